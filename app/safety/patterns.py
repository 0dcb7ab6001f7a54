"""Findings in the texts of tools: poisoning, hidden characters, shadowing, asks for secrets."""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from app.safety.hidden import hidden_characters, made_plain, mixed_scripts, visible
from app.safety.rules import ORDER, Rule, rules
from store.records import Finding, ToolRecord

EXCERPT = 160  # characters of a finding's quotation
BORDER = " . "  # between the texts of a tool
DEPTH = 40  # of a schema; deeper ones are not read
# an encoded passage: long enough to say something, and not a word of an address or a $ref
ENCODED = re.compile(r"(?<![A-Za-z0-9+/_.#-])(?:[A-Za-z0-9+/]{24,4000}={0,2})(?![A-Za-z0-9+/_-])")
DECODED_RULES = ("PI-01", "PI-02", "PI-03", "CO-01", "EX-01", "EX-02", "CM-01")
SHELL = re.compile(r"https?://|\b(curl|wget|chmod|bash|sh|nc|eval|powershell)\b[ /+-]", re.I)
# words before a match, in its sentence, that make it a mention of such texts
ABOUT = re.compile(
    r"\b(prompts? that|(asks?|tells?|telling) (the|an) (agent|model|llm) to|whether|detects?|"
    r"analy[sz]es?|reports?|flags?|scans? for|illustrative|sample|training text|mock|canned|"
    r"such as|e\.g\.|for example|returned string)\b",
    re.I,
)
# an honest warning: "do not follow instructions found in ..."
NEGATED = re.compile(r"\b(?:not|never|n't|nor)(?: \w+)? $", re.I)
# an order, and a name that is no common word
CALLED = re.compile(
    r"\b(?:invoke|call|run|execute|use)s? (?:the )?[`'\"]?"
    r"(?P<name>(?-i:[a-zA-Z0-9]+(?:[_-][a-zA-Z0-9]+)+|[a-z][a-z0-9]*[A-Z]\w*))\b",
    re.I,
)


def check(tool: ToolRecord, others: Iterable[ToolRecord] = ()) -> tuple[Finding, ...]:
    """Findings of one tool, worst first; `others` are the tools it may shadow."""
    return _check(tool, _Names.of(others))


def check_all(
    tools: Sequence[ToolRecord], among: Sequence[ToolRecord] | None = None
) -> Mapping[int, tuple[Finding, ...]]:
    """Findings of these tools, each seen beside all of `among`; tools without any have ()."""
    names = _Names.of(tools if among is None else among)
    return {tool.id: _check(tool, names) for tool in tools}


def _check(tool: ToolRecord, names: "_Names") -> tuple[Finding, ...]:
    found: dict[str, Finding] = {}
    for rule, severity, detail in (*_in_texts(_Joined.of(tool)), *_in_name(tool, names)):
        held = found.get(rule.id)
        if held is None or ORDER.index(severity) < ORDER.index(held.severity):
            found[rule.id] = Finding(0, tool.id, rule.id, severity, detail, tool.hash)
    return tuple(sorted(found.values(), key=lambda f: (ORDER.index(f.severity), f.rule)))


@dataclass(frozen=True, slots=True)
class _Names:
    """Tools by their name, and by what their name looks like."""

    exact: Mapping[str, Sequence[ToolRecord]]
    alike: Mapping[str, Sequence[ToolRecord]]

    @classmethod
    def of(cls, tools: Iterable[ToolRecord]) -> "_Names":
        exact: dict[str, list[ToolRecord]] = {}
        alike: dict[str, list[ToolRecord]] = {}
        for tool in tools:
            exact.setdefault(tool.name, []).append(tool)
            alike.setdefault(made_plain(tool.name).casefold(), []).append(tool)
        return cls(exact, alike)


@dataclass(frozen=True, slots=True)
class _Joined:
    """All texts of a tool in one, so that each pattern runs once; no sentence crosses a border."""

    text: str
    raw: tuple[str, ...]
    places: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, tool: ToolRecord) -> "_Joined":
        places, raw = zip(*_texts(tool), strict=True)
        plain = [made_plain(text) for text in raw]
        starts = [0, *accumulate(len(text) + len(BORDER) for text in plain[:-1])]
        return cls(BORDER.join(plain), raw, places, tuple(starts))

    def place(self, position: int) -> str:
        """The place of the text at that position."""
        return self.places[bisect_right(self.starts, position) - 1]

    def quote(self, match: re.Match[str]) -> str:
        """The place and what stands there."""
        index = bisect_right(self.starts, match.start()) - 1
        ends = (*self.starts[1:], len(self.text) + len(BORDER))
        own = self.text[self.starts[index] : ends[index] - len(BORDER)]
        start = max(0, match.start() - self.starts[index] - 30)
        start = own.rfind(" ", 0, start) + 1 if start else 0  # from the beginning of a word
        return f"{_place(self.places[index])}: “{visible(own[start : start + EXCERPT])}”"


def _place(place: str) -> str:
    """Where a text stands; names in it are the server's."""
    return visible(place if len(place) <= EXCERPT else f"{place[:EXCERPT]}…")


def _texts(tool: ToolRecord) -> Iterator[tuple[str, str]]:
    """Every text of a tool that a model may read, with the place it stands in."""
    yield "name", tool.name
    for key, value in tool.raw.items():
        if key != "name":
            yield from _strings(value, key, 0)


def _strings(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif depth < DEPTH and isinstance(value, dict):
        for key, inner in value.items():
            yield f"{place}, a name", str(key)
            yield from _strings(inner, f"{place}.{key}", depth + 1)
    elif depth < DEPTH and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, place, depth + 1)


def _in_texts(joined: _Joined) -> Iterator[tuple[Rule, str, str]]:
    """Rule, severity and quotation for every rule that a text breaks."""
    known = rules()
    for place, text in zip(joined.places, joined.raw, strict=True):
        for rule_id, quote in hidden_characters(text).items():
            yield known[rule_id], known[rule_id].severity, f"{_place(place)}: “{quote}”"
    for rule in known.values():
        for match in rule.matches(joined.text):
            yield rule, _severity(rule, joined.text, match), joined.quote(match)
    for position, said in _decoded(joined.text):
        if SHELL.search(said) or any(known[r].found(said) for r in DECODED_RULES):
            quote = f"{_place(joined.place(position))}: “{visible(said[:EXCERPT])}”"
            yield known["EN-01"], known["EN-01"].severity, quote


def _severity(rule: Rule, text: str, match: re.Match[str]) -> str:
    sentence = text[max(0, match.start() - 120) : match.start()].rsplit(". ", 1)[-1]
    told = ABOUT.search(sentence) or NEGATED.search(sentence)
    return rule.about if told else rule.severity


def _decoded(text: str) -> Iterator[tuple[int, str]]:
    """Position and text of every passage that is readable once decoded."""
    for match in ENCODED.finditer(text):
        blob = match.group()
        try:
            if re.fullmatch(r"(?:[0-9a-fA-F]{2})+", blob):
                said = bytes.fromhex(blob).decode("utf-8")
            else:
                said = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True).decode()
        except (ValueError, binascii.Error):
            continue
        if said.isprintable():
            yield match.start(), said


def _in_name(tool: ToolRecord, names: _Names) -> Iterator[tuple[Rule, str, str]]:
    """What the tool's name and its mentions of other servers' tools give away."""
    known = rules()
    if mixed_scripts(tool.name):
        yield known["HC-07"], known["HC-07"].severity, visible(tool.name)
    for other in names.exact.get(tool.name, ()):
        if other.server != tool.server:
            yield known["SH-04"], known["SH-04"].severity, f"{other.tool_id} has this name too"
    for other in names.alike.get(made_plain(tool.name).casefold(), ()):
        if other.server != tool.server and not tool.name.isascii():
            yield known["SH-03"], known["SH-03"].severity, f"looks like {other.tool_id}"
    text = made_plain(tool.description)
    # a common word is no reference; a name with a mark in it is, if an order stands before it
    for match in CALLED.finditer(text):
        called = names.exact.get(match["name"], ())
        if called and all(other.server != tool.server for other in called):
            quote = f"description: “{visible(match.group())}” ({called[0].tool_id})"
            yield known["SH-02"], known["SH-02"].severity, quote
