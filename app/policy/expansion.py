"""The count after expansion: tools listed, and those behind the ones that hide others.

Names come from the server's own definitions, from its answers after consent, from calls through
the gateway, and from lists that grew. Where none of these says anything the number is not known.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.hidden_names import named_in_definition
from app.policy.hiding import CALLS, CODE, SEARCHES, SWITCHES, HidingTool, hiding_tools
from store import hidden_tools

WRITTEN, ASKED, SEEN, GREW = "written", "asked", "seen", "grew"
_SOURCES = {
    WRITTEN: "by its own definition",
    ASKED: "at least, by its answers",
    SEEN: "at least, by calls seen",
    GREW: "by a list that grew",
}
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class HiddenCount:
    """A server's tools that are not listed, as far as they are known."""

    server: str
    names: tuple[str, ...] = ()
    tokens: int = 0  # of those whose definition is known
    source: str = ""  # "" where nothing is known
    hiding: tuple[HidingTool, ...] = ()  # the tools that hide them
    missing: tuple[str, ...] = ()  # servers that its config names, and no tool of them is counted

    @property
    def text(self) -> str:
        """One sentence."""
        kinds = {tool.kind for tool in self.hiding}
        what = f"{self.server}: {plural(len(self.hiding), 'tool')} hide others"
        if len(self.hiding) == 1:
            what = f"{self.server}: {self.hiding[0].tool_id.partition('/')[2]} hides others"
        if not self.hiding:
            what = f"{self.server}: its list grows"
        if kinds == {CODE}:
            return f"{what}: it runs code, so that no count says what it can do."
        if not self.source:
            return f"{what}; how many is not known."
        known = f"{what}; {len(self.names):,} are behind ({_SOURCES[self.source]})."
        if not self.missing:
            return known
        names = ", ".join(self.missing)
        return f"{known} In part: no tool of {names} is counted, which it may not have reached."


@dataclass(frozen=True, slots=True)
class Expansion:
    """Both numbers of a set of tools: listed, and with all that is known to be behind them."""

    listed: int
    listed_tokens: int
    behind: tuple[HiddenCount, ...] = ()

    @property
    def tools(self) -> int:
        """Tools with those behind."""
        return self.listed + sum(len(one.names) for one in self.behind)

    @property
    def tokens(self) -> int:
        """Tokens with those behind, as far as their definitions are known."""
        return self.listed_tokens + sum(one.tokens for one in self.behind)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Servers with more behind them than is known."""
        return tuple(one.server for one in self.behind if not one.source)

    @property
    def partial(self) -> tuple[str, ...]:
        """Servers that are counted without some of those that their config names."""
        return tuple(one.server for one in self.behind if one.source and one.missing)

    @property
    def sentence(self) -> str:
        """Both numbers, "" where nothing hides others."""
        if not self.behind:
            return ""
        more = f"; {plural(len(self.unknown), 'server')} not known" if self.unknown else ""
        more += f"; {', '.join(self.partial)} counted in part" if self.partial else ""
        searched = any(one.source in (ASKED, SEEN) for one in self.behind)
        least = "at least " if searched else ""  # what a search did not answer may be there too
        every = f"{least}{self.tools:,} with what they hide"
        return f"{plural(self.listed, 'tool')} listed, {every}{more}."


@dataclass(frozen=True, slots=True)
class Known:
    """Everything stored of what is behind tools."""

    answers: Mapping[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    seen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by server/tool
    grown: Mapping[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    missing: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def read_known(db: apsw.Connection) -> Known:
    """Everything stored, of all servers."""
    answers: dict[int, dict[str, int]] = {}
    for server, _tool, name, tokens in hidden_tools.answers(db):
        names = answers.setdefault(server, {})
        names[name] = max(names.get(name, 0), tokens)
    seen: dict[str, list[str]] = {}
    for tool_id, name in hidden_tools.seen(db):
        seen.setdefault(tool_id, []).append(name)
    grown: dict[int, list[tuple[str, int]]] = {}
    for server, name, tokens in hidden_tools.grown(db):
        grown.setdefault(server, []).append((name, tokens))
    missing: dict[int, tuple[str, ...]] = {}
    for server, name in hidden_tools.missing(db):
        missing[server] = (*missing.get(server, ()), name)
    return Known(
        {server: tuple(sorted(names.items())) for server, names in answers.items()},
        {tool: tuple(sorted(names)) for tool, names in seen.items()},
        {server: tuple(rows) for server, rows in grown.items()},
        missing,
    )


def expand(rows: Iterable[CatalogTool], known: Known) -> Expansion:
    """The count of the tools on, with what is behind them."""
    shown = [row for row in rows if row.shown]
    by_server: dict[int, list[CatalogTool]] = {}
    for row in shown:
        by_server.setdefault(row.server.id, []).append(row)
    hiding: dict[str, list[HidingTool]] = {}
    for tool in hiding_tools(shown):
        hiding.setdefault(tool.tool_id.partition("/")[0], []).append(tool)
    behind = [_behind(own, hiding.get(own[0].server.name, ()), known) for own in by_server.values()]
    return Expansion(
        len(shown),
        sum(row.cost for row in shown),
        tuple(sorted((one for one in behind if one), key=lambda one: one.server)),
    )


def _behind(
    rows: Sequence[CatalogTool], hiding: Sequence[HidingTool], known: Known
) -> HiddenCount | None:
    """One server's tools behind the listed ones; None where nothing says that there are any."""
    server = rows[0].server
    listed = {_plain(row.tool.name) for row in rows}
    sources: list[tuple[str, Iterable[tuple[str, int]]]] = [
        (ASKED, known.answers.get(server.id, ())),
        (WRITTEN, ((name, 0) for name in _written(rows, hiding))),
        (GREW, known.grown.get(server.id, ())),
        (SEEN, ((name, 0) for tool in hiding for name in known.seen.get(tool.tool_id, ()))),
    ]
    names: dict[str, tuple[str, int]] = {}
    source = ""
    for kind, more in sources:
        new = {_plain(name): (name, tokens) for name, tokens in more if _plain(name) not in listed}
        if set(new) - set(names) and not source:
            source = kind
        names = {**new, **names}
    if not hiding and not names:
        return None
    ordered = sorted(names.values())
    return HiddenCount(
        server.name,
        tuple(name for name, _tokens in ordered),
        sum(tokens for _name, tokens in ordered),
        source,
        tuple(hiding),
        known.missing.get(server.id, ()),
    )


def _written(rows: Sequence[CatalogTool], hiding: Sequence[HidingTool]) -> set[str]:
    kinds = {tool.tool_id: tool.kind for tool in hiding}
    return {
        name
        for row in rows
        if kinds.get(row.tool.tool_id) in (CALLS, SEARCHES, SWITCHES)
        for name in named_in_definition(row.tool.raw, kinds[row.tool.tool_id])
    }


def _plain(name: str) -> str:
    return _ODD.sub("_", name.lower()).strip("_")
