"""Rows of the catalogue tree: one branch per server, its tools and its problem below."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from app.catalog import CHANGED, Catalog, CatalogTool
from app.policy.usage import DAY, Usage
from store import records
from store.records import ServerRecord
from ui.models.filter_query import Facts
from ui.models.roles import BadgeText
from ui.text import plural

ATTENTION = (records.COULD_NOT_START, records.NEEDS_SIGN_IN, records.TOOK_TOO_LONG)

_STATUS_BADGES = {
    records.COULD_NOT_START: BadgeText("Could not start", "block", "close-octagon", solid=True),
    records.NEEDS_SIGN_IN: BadgeText("Needs sign-in", "warn", "key-outline"),
    records.TOOK_TOO_LONG: BadgeText("Took too long", "warn", "clock-outline"),
    records.STOPPED: BadgeText("Stopped", "neutral", "stop-circle-outline"),
    records.CONFIGURED: BadgeText("Not read yet", "neutral", "progress-clock"),
    records.WAITING: BadgeText("Waiting", "neutral", "progress-clock"),
    records.READING: BadgeText("Reading", "accent", "progress-clock"),
}


@dataclass(slots=True)
class Leaf:
    """One tool's row."""

    row: CatalogTool
    facts: Facts

    def take_usage(self, usage: Usage, now: float) -> None:
        """Take the calls of the last days."""
        name = self.row.tool.tool_id
        calls = usage.calls.get(name, 0)
        days = (now - usage.last[name]) / DAY if calls else inf
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
    calls: int = 0  # of its tools in the last days

    def sum_up(self) -> None:
        """Count anew after tools changed."""
        self.every = sum(leaf.row.cost for leaf in self.leaves)
        self.on = sum(leaf.row.cost for leaf in self.leaves if leaf.row.shown)
        self.ticked = sum(leaf.row.on for leaf in self.leaves)
        self.calls = sum(leaf.facts.calls for leaf in self.leaves)


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
    """What the filter looks at."""
    server, name = row.server.name.lower(), row.tool.name.lower()
    text = f"{name} {server} {row.tool.description} {row.summary}".lower()
    return Facts(server, name, text, hosts.lower(), row.cost, frozenset(_states(row)))


def refreshed(facts: Facts, row: CatalogTool) -> Facts:
    """The facts after a tick or a pin."""
    return replace(facts, states=frozenset(_states(row)))


def tool_badge(row: CatalogTool) -> BadgeText | None:
    """The worst thing to say about a tool, None for the normal state."""
    if row.tool.problem:
        return BadgeText("Unusable", "block", "close-octagon", solid=True)
    if row.held:
        return BadgeText("Held back", "block", "lock-outline", solid=True)
    if row.pinned:
        return BadgeText("Pinned", "accent", "pin")
    if _annotated(row, "destructiveHint") and not _annotated(row, "readOnlyHint"):
        return BadgeText("Destructive", "neutral", "alert")
    return None


def server_badge(branch: Branch) -> BadgeText | None:
    """The worst thing to say about a server, None for the normal state."""
    badge = _STATUS_BADGES.get(branch.server.status)
    if badge is not None:
        return badge
    if not branch.server.trusted:
        return BadgeText("Not trusted", "warn", "shield-alert-outline")
    held = sum(1 for leaf in branch.leaves if leaf.row.held)
    if held:
        return BadgeText(f"{held} held back", "warn", "lock-outline")
    broken = sum(1 for leaf in branch.leaves if leaf.row.tool.problem)
    return BadgeText(plural(broken, "problem"), "warn", "alert") if broken else None


def status_words(server: ServerRecord) -> str:
    """The server's status with its reason, as one sentence."""
    status = server.status[:1].upper() + server.status[1:]
    return f"{status}: {server.problem}" if server.problem else status


def _branch(server: ServerRecord, host_names: Mapping[str, str]) -> Branch:
    ids = dict.fromkeys(entry.host for entry in server.entries)
    hosts = ", ".join(host_names.get(host, host) for host in ids)
    problem = status_words(server) if server.status in ATTENTION else server.problem
    return Branch(server, hosts, problem=problem)


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
    if _annotated(row, "destructiveHint"):
        yield "destructive"
    if _annotated(row, "readOnlyHint"):
        yield "readonly"


def _annotated(row: CatalogTool, hint: str) -> bool:
    notes = row.tool.raw.get("annotations")
    return isinstance(notes, dict) and notes.get(hint) is True
