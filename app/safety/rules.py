"""The safety rules of resources/rules/safety.toml, compiled for linear-time matching (RE2)."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import re2

import resources
from app.safety.hidden import BIDI, TAGS

LOOK_ALIKE_RULE, LOOKS_LIKE = "SH-03", "looks like "  # before the id of the tool
ORDER = ("block", "warn", "info")  # severities, the worst first
_HALVES = re.compile("[\\ud800-\\udfff]")
_MOST = 300  # matches of one rule in one text


@dataclass(frozen=True, slots=True)
class Span:
    """Place of a match of a rule's pattern."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to distrust a tool; rules without patterns are found by code."""

    id: str
    title: str
    meaning: str
    severity: str  # block | warn | info
    about: str  # severity where the sentence speaks about such a text; the same as severity if not
    certain: bool  # block without the classifier's agreement
    patterns: tuple[str, ...] = ()

    def spans(self, text: str) -> Iterator[Span]:
        """Matches of any pattern, without overlaps, at most 300."""
        if self.patterns:
            for match in islice(_compiled(self.patterns).finditer(text), _MOST):
                yield Span(match.start(), match.end())


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Every rule, and one expression that matches wherever any of them does."""

    by_id: Mapping[str, Rule]
    _any: Any
    _harmless: re.Pattern[str]

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Places where any rule matches a text as it came, and those of invisible tags or marks."""
        whole = encodable(text)
        for match in islice(self._any.finditer(whole.replace("\n", " ")), _MOST):
            yield match.start(), match.end()
        for pattern in () if text.isascii() else (TAGS, BIDI):
            hidden = pattern.search(text)
            if hidden:
                yield hidden.start(), hidden.end()

    def matches(self, text: str) -> Iterator[tuple[Rule, Span]]:
        """Every rule's matches in a text."""
        calm = self._harmless.sub(_blanked, text.replace("\n", " "))
        if self._any.search(calm) is None:
            return
        for rule in self.by_id.values():
            for span in rule.spans(calm):
                yield rule, span


def encodable(text: str) -> str:
    """The text, of the same length, without halves of surrogate pairs, which RE2 cannot read."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def _blanked(match: re.Match[str]) -> str:
    """Text of the same length that no pattern takes for an address, a file or an order."""
    return re.sub(r"[@:/. ]", "·", match.group())


def rules() -> Mapping[str, Rule]:
    """Every rule by its id, in the file's order."""
    return rule_set().by_id


@cache
def rule_set() -> RuleSet:
    """The rules of the file.

    Raises re2.error where a pattern needs more than a finite automaton.
    """
    # importlib.resources would bring 20 modules, 1 MB, into every gateway
    file = Path(resources.__file__).with_name("rules") / "safety.toml"
    parsed = tomllib.loads(file.read_text(encoding="utf-8"))
    by_id = {
        row["id"]: Rule(
            id=row["id"],
            title=row["title"],
            meaning=row["meaning"],
            severity=row["severity"],
            about=row.get("about", row["severity"]),
            certain=row.get("certain", False),
            patterns=tuple(row.get("patterns", ())),
        )
        for row in parsed["rule"]
    }
    every = tuple(pattern for rule in by_id.values() for pattern in rule.patterns)
    harmless = re.compile("|".join(parsed["harmless"]), re.IGNORECASE)
    return RuleSet(MappingProxyType(by_id), _compiled(every), harmless)


@cache
def _compiled(patterns: tuple[str, ...]) -> Any:
    """One expression for several patterns; RE2 knows neither back-references nor look-arounds.

    A rule's own is made when a text is not clean by all rules' together: most gateways see none.
    """
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 64 << 20
    return re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), options)
