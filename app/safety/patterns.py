"""Findings in the texts of tools: poisoning, hidden characters, shadowing, asks for secrets."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.safety.hidden import made_plain, mixed_scripts, visible
from app.safety.judgement import EXCERPT, judge
from app.safety.rules import LOOK_ALIKE_RULE, LOOKS_LIKE, ORDER, Rule, rules
from app.safety.sentences import sentence_spans
from app.safety.texts import tool_passages
from store.records import Finding, ToolRecord

# an order, and a name that is no common word
_CALLED = re.compile(
    r"\b(?:invoke|call|run|execute|use)s? (?:the )?[`'\"]?"
    r"(?P<name>(?-i:[a-zA-Z0-9]{1,60}(?:[_-][a-zA-Z0-9]{1,60}){1,12}"
    r"|[a-z][a-z0-9]{0,60}[A-Z]\w{0,60}))\b",
    re.I,
)
_NAME = re.compile(
    r"\b[a-zA-Z0-9]{1,60}(?:[_-][a-zA-Z0-9]{1,60}){1,12}\b|\b[a-z][a-z0-9]{0,60}[A-Z]\w{0,60}\b"
)
# words that say how a thing is used at all, or that it is not to be trusted
_STEERS = re.compile(
    r"\b(?:must|ha(?:s|ve) to|shall|always|never|whenever|no matter|regardless|(?:each|every)"
    r" (?:time|call|run|use|message|file|request)|supersed\w+|takes? the place of|compromised"
    r"|broken|unsafe|outdated|hidden|silently|skip|bypass|on behalf of)\b",
    re.I,
)
_MOST_STEERING = 20_000  # characters of one text that are read for it
_MOST_CALLED = 200  # names of one text that are looked up


def check(tool: ToolRecord, others: Iterable[ToolRecord] = ()) -> tuple[Finding, ...]:
    """Findings of one tool, worst first; `others` are the tools it may shadow."""
    return _check(tool, Names.of(others))


def check_all(
    tools: Sequence[ToolRecord], among: "Names | None" = None
) -> Mapping[int, tuple[Finding, ...]]:
    """Findings of these tools, each seen beside all of `among`; tools without any have ()."""
    names = Names.of(tools) if among is None else among
    return {tool.id: _check(tool, names) for tool in tools}


def _check(tool: ToolRecord, names: "Names") -> tuple[Finding, ...]:
    by_rule: dict[str, Finding] = {}
    for sighting in judge(tool_passages(tool)):
        by_rule[sighting.rule] = _finding(tool, sighting.rule, sighting.severity, sighting.detail)
    for rule, detail in _in_name(tool, names):
        by_rule.setdefault(rule.id, _finding(tool, rule.id, rule.severity, detail))
    return tuple(sorted(by_rule.values(), key=lambda f: (ORDER.index(f.severity), f.rule)))


def _finding(tool: ToolRecord, rule: str, severity: str, detail: str) -> Finding:
    return Finding(0, tool.id, rule, severity, detail, tool.hash)


@dataclass(frozen=True, slots=True)
class Names:
    """Tools by their name, and by the form that their name looks like: one of each server.

    Made once for all tools that are judged beside them.
    """

    exact: Mapping[str, Mapping[str, ToolRecord]]
    alike: Mapping[str, Mapping[str, ToolRecord]]

    @classmethod
    def of(cls, tools: Iterable[ToolRecord]) -> "Names":
        """The names of these tools."""
        exact: dict[str, dict[str, ToolRecord]] = {}
        alike: dict[str, dict[str, ToolRecord]] = {}
        for tool in tools:
            exact.setdefault(tool.name, {}).setdefault(tool.server, tool)
            plain = made_plain(tool.name).casefold()
            alike.setdefault(plain, {}).setdefault(tool.server, tool)
        return cls(exact, alike)


def _in_name(tool: ToolRecord, names: Names) -> Iterator[tuple[Rule, str]]:
    """Findings in the tool's name and in its mentions of other servers' tools."""
    known = rules()
    if mixed_scripts(tool.name):
        yield known["HC-07"], visible(tool.name)
    for other in _of_other_servers(tool, names.exact.get(tool.name, {})):
        yield known["SH-04"], f"{other.tool_id} has this name too"
    if not tool.name.isascii():
        plain = made_plain(tool.name).casefold()
        for other in _of_other_servers(tool, names.alike.get(plain, {})):
            yield known[LOOK_ALIKE_RULE], f"{LOOKS_LIKE}{other.tool_id}"
    yield from list(_called(tool, names)) or _steered(tool, names)


def _of_other_servers(tool: ToolRecord, others: Mapping[str, ToolRecord]) -> Iterator[ToolRecord]:
    """The first of these tools that another server has."""
    return islice((other for server, other in others.items() if server != tool.server), 1)


def _called(tool: ToolRecord, names: Names) -> Iterator[tuple[Rule, str]]:
    text = made_plain(tool.description)
    # a common word is no reference; a name with a mark in it is, if an order precedes it
    for match in islice(_CALLED.finditer(text), _MOST_CALLED):
        called = names.exact.get(match["name"], {})
        if called and tool.server not in called:
            first = next(iter(called.values()))
            quote = f"description: “{visible(match.group())}” ({first.tool_id})"
            yield rules()["SH-02"], quote
            return


def _steered(tool: ToolRecord, names: Names) -> Iterator[tuple[Rule, str]]:
    """A sentence that says how another server's tool must be used; one that it also has is its own.

    A text that names another's tool of the same name by its server speaks of that one throughout.
    """
    for passage in tool_passages(tool)[1:]:
        text = made_plain(passage.text[:_MOST_STEERING])
        if _STEERS.search(text) is None:
            continue
        spans = list(sentence_spans(text))
        for match in islice(_NAME.finditer(text), _MOST_CALLED):
            others = names.exact.get(match.group(), {})
            theirs = others.keys() - {tool.server}
            if not theirs:
                continue
            named = any(text.endswith(f"{server}/", 0, match.start()) for server in theirs)
            place = bisect_right(spans, match.start(), key=lambda span: span.start) - 1
            sentence = spans[place].text if place >= 0 else ""
            if named or (tool.server not in others and _STEERS.search(sentence)):
                other = others[min(theirs)]
                quote = visible(sentence[:EXCERPT])
                yield rules()["SH-05"], f"{passage.place}: “{quote}” ({other.tool_id})"
                return
