"""Rows of the catalogue tree: one branch per server, its tools and its problem below."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.named_twice import named_twice
from app.catalog.reasons import CHANGED
from app.catalog.server_findings import findings_of
from app.core.text import plural
from app.policy.usage import DAY, Usage
from store import records
from store.records import ServerRecord
from ui.shell.badges import badge
from ui.widgets.filter_query import Facts
from ui.widgets.roles import BadgeText

ATTENTION = (records.COULD_NOT_START, records.NEEDS_SIGN_IN, records.TOOK_TOO_LONG)


@dataclass(slots=True)
class Leaf:
    """One tool's row."""

    row: CatalogTool
    facts: Facts
    calls: int | None = None  # in the last days; None while it is not known

    def take_usage(self, usage: Usage, now: float) -> None:
        """Take the calls of the last days."""
        name = self.row.tool.tool_id
        calls = usage.calls.get(name, 0)
        days = (now - usage.last[name]) / DAY if calls else inf
        self.calls = calls if usage.calls else None
        if calls or self.facts.calls:
            self.facts = replace(self.facts, calls=calls, unused=days)


@dataclass(slots=True)
class Branch:
    """One server's row; `shown` are the leaves that pass the filter, in the order of the sort."""

    server: ServerRecord
    hosts: str  # names, "Claude Desktop, Cursor"
    leaves: list[Leaf] = field(default_factory=list)
    shown: list[Leaf] = field(default_factory=list)
    problem: str = ""  # a row of its own, before the tools

    every: int = 0  # tokens of all its tools
    on: int = 0  # tokens of those a host may get
    ticked: int = 0  # how many of its tools are ticked
    calls: int | None = None  # of its tools in the last days; None while it is not known

    @property
    def size(self) -> int:
        """The tokens that its row shows: what is on, else what could be."""
        return self.on or self.every

    def sum_up(self) -> None:
        """Count anew after tools changed."""
        self.every = sum(leaf.row.cost for leaf in self.leaves)
        self.on = sum(leaf.row.cost for leaf in self.leaves if leaf.row.shown)
        self.ticked = sum(leaf.row.on for leaf in self.leaves)
        calls = [leaf.calls for leaf in self.leaves if leaf.calls is not None]
        self.calls = sum(calls) if calls else None


def make_branches(catalog: Catalog, host_names: Mapping[str, str]) -> list[Branch]:
    """A branch per server with its tools."""
    branches = {s.id: _branch(s, host_names) for s in catalog.servers}
    for row in catalog.tools:
        branch = branches[row.tool.server_id]
        branch.leaves.append(Leaf(row, facts_of(row, branch.hosts)))
    for branch in branches.values():
        branch.sum_up()
    return list(branches.values())


def facts_of(row: CatalogTool, hosts: str) -> Facts:
    """Facts of a tool, for the filter."""
    server, name = row.server.name.lower(), row.tool.name.lower()
    text = f"{name} {server} {row.tool.description} {row.summary}".lower()
    return Facts(server, name, text, hosts.lower(), row.cost, frozenset(_states(row)))


def refreshed(facts: Facts, row: CatalogTool) -> Facts:
    """The facts after a tick or a pin."""
    return replace(facts, states=frozenset(_states(row)))


def tool_badge(row: CatalogTool) -> BadgeText | None:
    """The worst thing to say about a tool, None for the normal state."""
    if row.tool.problem:
        return badge("unusable")
    if row.held:
        return badge("held")
    if row.pinned:
        return badge("pinned")
    if row.tool.has_hint("destructiveHint") and not row.tool.has_hint("readOnlyHint"):
        return badge("destructive")
    return None


def server_badge(branch: Branch) -> BadgeText | None:
    """The worst thing to say about a server, None for the normal state."""
    if branch.server.disabled:
        return badge("disabled")
    if branch.server.status != records.READ:
        return badge(branch.server.status)
    if not branch.server.trusted:
        return badge("not trusted")
    held = sum(1 for leaf in branch.leaves if leaf.row.held)
    if held:
        return badge("some held", f"{held} held back")
    if any(not one.get("decided") for one in findings_of(branch.server)):
        return badge("text to review")
    broken = sum(1 for leaf in branch.leaves if leaf.row.tool.problem)
    if broken:
        return badge("problems", plural(broken, "problem"))
    return badge("named twice") if named_twice(branch.server) else None


def status_words(server: ServerRecord) -> str:
    """The server's status with its reason, as one sentence."""
    status = server.status[:1].upper() + server.status[1:]
    return f"{status}: {server.problem}" if server.problem else status


def _branch(server: ServerRecord, host_names: Mapping[str, str]) -> Branch:
    ids = dict.fromkeys(entry.host for entry in server.entries)
    hosts = ", ".join(host_names.get(host, host) for host in ids)
    problem = status_words(server) if server.status in ATTENTION else server.problem
    return Branch(server, hosts, problem=problem or twice_words(server, host_names))


def twice_words(server: ServerRecord, host_names: Mapping[str, str]) -> str:
    """Sentences on hosts that name the server twice, "" without one."""
    twice = named_twice(server)
    return " ".join(one.text(host_names.get(one.spare.host, one.spare.host)) for one in twice)


def _states(row: CatalogTool) -> Iterable[str]:
    yield "on" if row.on else "off"
    if row.held:
        yield "held"
    if row.held == CHANGED:
        yield "changed"
    if row.pinned:
        yield "pinned"
    if row.tool.problem or row.server.status in ATTENTION:
        yield "error"
    if row.tool.has_hint("destructiveHint"):
        yield "destructive"
    if row.tool.has_hint("readOnlyHint"):
        yield "readonly"
