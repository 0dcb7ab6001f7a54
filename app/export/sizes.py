"""What each host's model gets of tool definitions, by the way the host gets its tools."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.export.plan import sent_to_model
from app.export.recommend import host_rows
from app.export.status import HostStatus
from app.policy.budget import Budget, Verdict, verdict


@dataclass(frozen=True, slots=True)
class HostSize:
    """One host against its profile's budget.

    Computed from what is on now: changes that were not written yet count as if they were. A host
    that loads tools on demand itself (`defers`) gives its model less than this.
    """

    host: str  # its name
    mode: str
    verdict: Verdict
    defers: bool


def host_sizes(statuses: Iterable[HostStatus]) -> tuple[HostSize, ...]:
    """The hosts that name servers of the catalogue, in the order given; each by its profile."""
    sizes = []
    for status in statuses:
        catalog = status.catalog
        rows = host_rows(status.host, catalog)
        if rows:
            sent = sent_to_model(rows, status.mode, catalog)
            cap = status.host.tool_limit
            budget = Budget.from_settings(catalog.settings.budget, host_limit=cap)
            found = verdict(sent.tokens, sent.count, budget)
            defers = status.host.defers in ("always", "default")
            sizes.append(HostSize(status.host.name, status.mode, found, defers))
    return tuple(sizes)
