"""The week in short: calls, tools never called, cost, and proposals. Starts and sends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.host_status.sizes import HostSize
from app.policy.budget import BLOCK, Budget, verdict_on
from app.policy.coverage import ServerUse, ToolUse, coverage
from app.policy.proposals import (
    LEAST_CALLS,
    Proposal,
    budget_proposal,
    enough,
    tool_proposals,
    without,
)
from app.policy.usage import DAY, ENOUGH_DAYS, Usage, read_usage
from store import put_off, size_days, vectors
from store.connection import transaction
from store.records import PutOff

WEEK = 7.0
EVIDENCE_DAYS = 30.0
NOTHING, LITTLE, READY = "nothing", "little", "ready"
_NO_CALLS = "No calls are known yet."


@dataclass(frozen=True, slots=True)
class HostWeek:
    """Tool definitions that one host sent in the week; `tokens` are those of one request."""

    host: str  # name
    requests: int
    tokens: int
    price: float = 0.0  # of a million input tokens

    @property
    def spent(self) -> int:
        """Tokens of all its requests' definitions."""
        return self.requests * self.tokens

    @property
    def money(self) -> float:
        """The same in money, 0 without a price."""
        return self.spent / 1_000_000 * self.price


@dataclass(frozen=True, slots=True)
class Digest:
    """One week of one profile; proposals follow from the last 30 days."""

    profile: str
    week: Usage
    usage: Usage  # of the last 30 days
    called: tuple[ToolUse, ...]  # most called first
    servers: tuple[ServerUse, ...]
    hosts: tuple[HostWeek, ...]
    proposals: tuple[Proposal, ...]
    put_off: tuple[PutOff, ...]

    @property
    def state(self) -> str:
        """NOTHING was seen, too LITTLE for proposals, or READY."""
        if not self.usage.total:
            return NOTHING
        return READY if enough(self.usage) else LITTLE

    @property
    def never(self) -> int:
        """Tools on that were not called in the 30 days."""
        return sum(len(use.never) for use in self.servers)

    @property
    def never_tokens(self) -> int:
        """Their tokens."""
        return sum(use.unused for use in self.servers)

    @property
    def frees(self) -> int:
        """Tokens that all proposals free."""
        return sum(one.saves for one in self.proposals)

    @property
    def sentence(self) -> str:
        """Its state in one or two sentences."""
        if self.state == NOTHING:
            return f"{_NO_CALLS} Let a host go through Toolcrib, or read the hosts' records."
        calls = (
            f"{plural(self.week.total, 'call')} of {plural(len(self.called), 'tool')} this week."
        )
        if self.state == LITTLE:
            days = min(int(self.usage.days), int(ENOUGH_DAYS))
            need = f"{int(ENOUGH_DAYS)} days and {LEAST_CALLS} calls"
            total = plural(self.usage.total, "call")
            return f"{calls} Proposals need {need}: there are {days} days and {total}."
        if not self.proposals:
            return f"{calls} Nothing is proposed."
        return (
            f"{calls} {plural(len(self.proposals), 'proposal')} would free {self.frees:,} tokens."
        )


def make_digest(
    db: apsw.Connection,
    catalog: Catalog,
    sizes: Sequence[HostSize],
    now: float,
    *,
    price: float,
) -> Digest:
    """The digest of a catalogue's profile; `sizes` are what its hosts get."""
    week, usage = read_usage(db, now, days=WEEK), read_usage(db, now, days=EVIDENCE_DAYS)
    note_sizes(db, catalog, sizes, now)
    stored = vectors.load(db, vectors.newest_model(db)) if enough(usage) else {}
    proposals = list(tool_proposals(catalog.tools, usage, stored, now))
    name, limit = catalog.profile.name, Budget.from_settings(catalog.settings.budget).limit
    days = size_days.since(db, name, int((now - EVIDENCE_DAYS * DAY) // DAY))
    if enough(usage) and (budget := budget_proposal(name, limit, days)):
        proposals.append(budget)
    put = put_off.in_force(db, now)
    called = [tool for use in coverage(catalog, week) for tool in use.tools if tool.calls]
    return Digest(
        name,
        week,
        usage,
        tuple(sorted(called, key=lambda tool: (-tool.calls, tool.row.tool.tool_id))),
        coverage(catalog, usage),
        tuple(_weeks(sizes, week, price)),
        without(proposals, put),
        tuple(put),
    )


def note_sizes(
    db: apsw.Connection, catalog: Catalog, sizes: Sequence[HostSize], now: float
) -> None:
    """Remember today's largest size of the profile, so that its budget is judged over days."""
    own = [size.verdict for size in sizes if size.catalog.profile.name == catalog.profile.name]
    verdict = max(own, key=lambda one: one.tokens, default=None) or verdict_on(catalog)
    if not verdict.tokens:
        return
    with transaction(db):
        size_days.note(
            db,
            int(now // DAY),
            catalog.profile.name,
            verdict.tokens,
            verdict.tools,
            over=verdict.word == BLOCK,
        )


def _weeks(sizes: Sequence[HostSize], week: Usage, price: float) -> list[HostWeek]:
    """Hosts with requests in the week, the costliest first."""
    hosts = [
        HostWeek(size.host, week.requests[size.facts.id], size.sent.tokens, price)
        for size in sizes
        if week.requests.get(size.facts.id)
    ]
    return sorted(hosts, key=lambda one: -one.spent)
