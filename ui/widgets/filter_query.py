"""The filter line's grammar: words, "phrases", key:value, -term; terms are ANDed, commas are OR."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import eq, ge, gt, le, lt

from app.core.errors import ToolcribError

KEYS = ("server", "host", "tool", "text", "is", "tokens", "calls", "used")
IS = ("on", "off", "held", "changed", "pinned", "destructive", "readonly", "error")

_TERM = re.compile(r'(-?)(?:([A-Za-z]+):)?(?:"([^"]*)"?|(\S+))')
_NUMBER = re.compile(r"(>=|<=|>|<)?(\d+(?:\.\d+)?)(k?)(?:\.\.(\d+(?:\.\d+)?)(k?))?$")
_DAYS = re.compile(r"([<>])(\d{1,4})d$")
_COMPARED = {">": gt, ">=": ge, "<": lt, "<=": le, None: eq}


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one tool that filters test; all texts in lower case."""

    server: str
    tool: str
    text: str  # name, server, description and summary
    hosts: str
    tokens: int
    states: frozenset[str] = field(default_factory=frozenset)  # what is: asks for
    calls: int = 0  # in the last 30 days, through Toolcrib
    unused: float = inf  # days since the last of them


Test = Callable[[Facts], bool]
_TEXTS: Mapping[str, Callable[[Facts], str]] = {
    "server": lambda facts: facts.server,
    "tool": lambda facts: facts.tool,
    "host": lambda facts: facts.hosts,
    "text": lambda facts: facts.text,
}
_COUNTS: Mapping[str, Callable[[Facts], int]] = {
    "tokens": lambda facts: facts.tokens,
    "calls": lambda facts: facts.calls,
}


class FilterError(ToolcribError):
    """The filter line cannot be understood."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter line."""

    tests: tuple[Test, ...] = ()

    def accepts(self, facts: Facts) -> bool:
        """True if the tool passes every term."""
        return all(test(facts) for test in self.tests)


def parse(text: str, states: Sequence[str] = IS) -> Filter:
    """The filter of that line, `states` are what is: knows; raises FilterError with a sentence."""
    return Filter(tuple(_term(match, states) for match in _TERM.finditer(text)))


def _term(match: re.Match[str], states: Sequence[str]) -> Test:
    minus, key, phrase, word = match.groups()
    value = phrase if phrase is not None else word or ""
    test = _keyed(key.lower(), value, states) if key else _words(value)
    return (lambda facts: not test(facts)) if minus else test


def _words(value: str) -> Test:
    wanted = value.lower()
    return lambda facts: wanted in facts.text


def _keyed(key: str, value: str, states: Sequence[str]) -> Test:
    parts = value.split(",")
    if key in _COUNTS:
        return _any([_number_test(key, part) for part in parts])
    if key == "used":
        return _any([_used(part.lower()) for part in parts])
    if key == "is":
        return _any([_is(part.lower(), states) for part in parts])
    if key in _TEXTS:
        text, wanted = _TEXTS[key], [part for part in value.lower().split(",") if part]
        return lambda facts: any(part in text(facts) for part in wanted)
    raise FilterError(f"There is no key {key}: known are {', '.join(KEYS)}.")


def _any(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda facts: any(test(facts) for test in tests)


def _is(word: str, states: Sequence[str]) -> Test:
    if word not in states:
        raise FilterError(f"is: knows {', '.join(states)}, not '{word}'.")
    return lambda facts: word in facts.states


def _used(text: str) -> Test:
    if text == "never":
        return lambda facts: not facts.calls
    match = _DAYS.match(text)
    if match is None:
        raise FilterError(f"used: needs never, <7d or >30d, got '{text}'.")
    days = int(match[2])
    if match[1] == "<":
        return lambda facts: facts.unused < days
    return lambda facts: facts.unused > days


def _number_test(key: str, text: str) -> Test:
    match, value = _NUMBER.match(text), _COUNTS[key]
    if match is None or (match[1] and match[4]):
        raise FilterError(f"{key}: needs a number such as 500, >1k or 200..800, got '{text}'.")
    low = _number(match[2], match[3])
    if match[4]:
        high = _number(match[4], match[5])
        return lambda facts: low <= value(facts) <= high
    compared = _COMPARED[match[1]]
    return lambda facts: compared(value(facts), low)


def _number(digits: str, thousand: str) -> float:
    return float(digits) * (1000 if thousand else 1)
