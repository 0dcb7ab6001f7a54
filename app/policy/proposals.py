"""Proposals to trim a profile, from enough evidence; each can be put off, also for good."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import apsw

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.near import Pair, near_duplicates, superseded
from app.policy.pruner import COSTLY, RARE_CALLS, duplicates
from app.policy.usage import DAY, ENOUGH_DAYS, Usage
from store import put_off
from store.connection import transaction
from store.records import PutOff

NEVER, DOUBLE, SUPERSEDED, RARE = "never called", "duplicate", "superseded", "rarely called"
BUDGET = "budget"
LEAST_CALLS = 20  # of all tools, before one of them counts as unused
SNOOZE_DAYS = 30
_LOOKS = 5  # days on which a profile's size is known, before its budget is judged
_MOSTLY = 0.8  # of those days
_HALF = 0.5  # of a budget: what stays below it on every day is room for nothing
_ROOM = 1.25  # of what is needed, in a budget that is proposed
_ROUND = 1_000  # tokens


@dataclass(frozen=True, slots=True)
class Proposal:
    """Tools to turn off or a budget to set, what it frees, and why."""

    key: str
    kind: str
    title: str
    evidence: str
    tools: tuple[CatalogTool, ...] = ()
    budget: int = 0  # tokens; for a budget's proposal

    @property
    def saves(self) -> int:
        """Tokens that turning the tools off frees."""
        return sum(tool.cost for tool in self.tools)


def enough(usage: Usage) -> bool:
    """True if there is enough evidence for any proposal."""
    return usage.enough and usage.total >= LEAST_CALLS


def tool_proposals(
    tools: Sequence[CatalogTool], usage: Usage, vectors: Mapping[int, bytes], now: float
) -> tuple[Proposal, ...]:
    """Proposals over the tools shown, no tool in two; none before there is enough evidence."""
    if not enough(usage):
        return ()
    shown = [tool for tool in tools if tool.shown]
    gone: set[int] = set()
    proposals: list[Proposal] = []

    def take(kind: str, pairs: Sequence[Pair], because: str) -> None:
        for spare, kept in pairs:
            if spare.pinned or {spare.tool.id, kept.tool.id} & gone:
                continue
            gone.add(spare.tool.id)
            title = f"{spare.tool.tool_id}: {because} {kept.tool.tool_id}"
            key = f"{kind}:{spare.tool.tool_id}={kept.tool.tool_id}"
            proposals.append(Proposal(key, kind, title, _calls(usage, spare, kept), (spare,)))

    take(SUPERSEDED, superseded(shown, usage), "replaced by")
    take(DOUBLE, duplicates(shown, usage), "the same as")
    take(DOUBLE, near_duplicates(shown, vectors, usage), "does the same as")
    known = [t for t in shown if t.tool.id not in gone and not t.pinned and _is_known(t, now)]
    proposals += _never_called(known, usage)
    proposals += _rarely_called(known, usage)
    return tuple(sorted(proposals, key=lambda one: (-one.saves, one.key)))


def _is_known(tool: CatalogTool, now: float) -> bool:
    """True if the tool has been there for as long as evidence needs."""
    return tool.tool.first_seen <= now - ENOUGH_DAYS * DAY


def _calls(usage: Usage, spare: CatalogTool, kept: CatalogTool) -> str:
    counts = [usage.calls.get(one.tool.tool_id, 0) for one in (spare, kept)]
    return f"Called {counts[0]:,} times; {kept.tool.tool_id} {counts[1]:,} times."


def _never_called(tools: Sequence[CatalogTool], usage: Usage) -> list[Proposal]:
    """One proposal a server."""
    unused: dict[str, list[CatalogTool]] = {}
    for tool in tools:
        if not usage.calls.get(tool.tool.tool_id):
            unused.setdefault(tool.server.name, []).append(tool)
    days = plural(round(usage.days), "day")
    return [
        Proposal(
            f"{NEVER}:{server}",
            NEVER,
            f"{server}: {plural(len(rows), 'tool')} never called in {days}",
            usage.evidence,
            tuple(sorted(rows, key=lambda t: (-t.cost, t.tool.name))),
        )
        for server, rows in unused.items()
    ]


def _rarely_called(tools: Sequence[CatalogTool], usage: Usage) -> list[Proposal]:
    """One proposal a tool."""
    return [
        Proposal(
            f"{RARE}:{tool.tool.tool_id}",
            RARE,
            f"{tool.tool.tool_id}: {tool.cost:,} tokens, called"
            f" {plural(usage.calls[tool.tool.tool_id], 'time')}",
            usage.evidence,
            (tool,),
        )
        for tool in tools
        if tool.cost >= COSTLY and 1 <= usage.calls.get(tool.tool.tool_id, 0) <= RARE_CALLS
    ]


def budget_proposal(
    profile: str, limit: int, days: Sequence[tuple[int, int, bool]]
) -> Proposal | None:
    """Another budget for a profile whose own was missed, or half empty, on most days.

    `days` are (day, tokens, over) as store.size_days gives them.
    """
    if len(days) < _LOOKS or days[-1][0] - days[0][0] < ENOUGH_DAYS - 1 or limit <= 0:
        return None
    sizes = sorted(tokens for _day, tokens, _over in days)
    missed = sum(tokens > limit for tokens in sizes)
    count = f"{missed} of {len(days)}"
    if missed >= _MOSTLY * len(days):
        most = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
        wanted = _rounded(most)
        title = f"The budget of {profile} was missed on {count} days: {wanted:,} tokens would hold"
        return Proposal(_budget_key(profile, up=True), BUDGET, title, _sizes(sizes), budget=wanted)
    wanted = _rounded(round(sizes[-1] * _ROOM))
    if sizes[-1] and sizes[-1] <= _HALF * limit and wanted < limit:
        title = f"The budget of {profile} is never half used: {wanted:,} tokens are enough"
        return Proposal(_budget_key(profile, up=False), BUDGET, title, _sizes(sizes), budget=wanted)
    return None


def _budget_key(profile: str, *, up: bool) -> str:
    return f"{BUDGET}:{'up' if up else 'down'}:{profile}"


def _rounded(tokens: int) -> int:
    return -(-tokens // _ROUND) * _ROUND


def _sizes(sizes: Sequence[int]) -> str:
    return f"On {plural(len(sizes), 'day')} it was {sizes[0]:,} to {sizes[-1]:,} tokens."


def without(proposals: Sequence[Proposal], put: Collection[PutOff]) -> tuple[Proposal, ...]:
    """The proposals that are not put off."""
    keys = {one.proposal for one in put}
    return tuple(one for one in proposals if one.key not in keys)


def snooze(db: apsw.Connection, proposal: Proposal, now: float, *, for_good: bool) -> None:
    """Put a proposal off, for 30 days or for good."""
    until = 0.0 if for_good else now + SNOOZE_DAYS * DAY
    with transaction(db):
        put_off.put(db, proposal.key, proposal.title, until, now)


def bring_back(db: apsw.Connection, key: str, before: PutOff | None = None) -> bool:
    """Undo putting a proposal off, or set an earlier decision again; False without one."""
    with transaction(db):
        was = put_off.forget(db, key)
        if before is not None:
            put_off.put(db, key, before.title, before.until, before.made)
    return was


def read_put_off(db: apsw.Connection, key: str) -> PutOff | None:
    """The decision on a proposal, None without one."""
    return put_off.one(db, key)


def restore(db: apsw.Connection, put: Collection[PutOff]) -> None:
    """Set decisions again that were undone."""
    with transaction(db):
        for one in put:
            put_off.put(db, one.proposal, one.title, one.until, one.made)
