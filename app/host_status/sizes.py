"""Size of the tool definitions that each host's model gets, beside the host's budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import apsw

from app.catalog.catalog import Catalog
from app.export.file_tools import file_tools
from app.export.model_tools import ModelTools, model_tools
from app.host_status.overview import survey
from app.host_status.status import NOT_FOUND, HostStatus
from app.hosts.facts import HostFacts
from app.hosts.places import Places
from app.policy.budget import BLOCK, PASS, WARN, Budget, Verdict, verdict
from store.records import PRUNED, THROUGH

_WORST = {BLOCK: 0, WARN: 1, PASS: 2}


@dataclass(frozen=True, slots=True)
class HostSize:
    """One host against its profile's budget.

    Computed from what is on now: changes that were not written yet count as if they were. Of a host
    that loads tools on demand itself (`defers`) it is the names, `sent.later` the schemas.
    """

    facts: HostFacts
    mode: str
    sent: ModelTools
    verdict: Verdict
    profile: str  # that the host gets by Toolcrib's writes, "" for none
    catalog: Catalog = field(repr=False, compare=False)  # as that profile sees it
    behind: tuple[str, ...] = ()  # servers that its one entry reaches
    narrowed: bool = True  # False: its entry is of an earlier build and reaches every server
    unread: tuple[str, ...] = ()  # names of its servers whose tools are not known, so not counted

    @property
    def host(self) -> str:
        """The host's name."""
        return self.facts.name

    @property
    def once_written(self) -> int:
        """Tokens that its model would get pruned."""
        return model_tools(self.facts, PRUNED, self.catalog).tokens

    @property
    def through(self) -> int:
        """Tokens that its model would get through Toolcrib."""
        return model_tools(self.facts, THROUGH, self.catalog).tokens

    @property
    def defers(self) -> bool:
        """True if the host itself loads tools on demand."""
        return self.facts.defers_tools


def host_size(status: HostStatus, catalog: Catalog) -> HostSize:
    """One host's size; `catalog` is as the profile sees it that the host gets."""
    now = file_tools(
        status.host, catalog, status.readings, native=status.native, beside=status.beside
    )
    budget = Budget.from_settings(catalog.settings.budget, host_limit=status.host.tool_limit)
    outcome = verdict(now.sent.tokens, now.sent.count, budget)
    return HostSize(
        status.host,
        now.mode,
        now.sent,
        outcome,
        status.profile,
        catalog,
        now.behind,
        now.narrowed,
        now.unread,
    )


def host_sizes(
    statuses: Iterable[HostStatus], present: Catalog | None = None
) -> tuple[HostSize, ...]:
    """The hosts of this computer that get tools of the catalogue, in the order given.

    `present` is the catalogue as it is now, for the hosts that are held against its profile.
    """
    sizes = []
    for status in statuses:
        same = present is not None and present.profile.name == status.catalog.profile.name
        catalog = present if present is not None and same else status.catalog
        if status.state == NOT_FOUND:
            continue
        size = host_size(status, catalog)
        if size.mode == THROUGH or size.sent.tools:
            sizes.append(size)
    return tuple(sizes)


def measure(
    db: apsw.Connection, places: Places, catalog: Catalog, *, only: str = ""
) -> tuple[HostSize, ...]:
    """The sizes of this computer's hosts, or of the host `only`, as their files are now."""
    return host_sizes(survey(db, places, catalog, only=only), catalog)


def in_view(sizes: Sequence[HostSize], choice: str) -> HostSize | None:
    """The host of that id, the worst for "" and for one that is gone, None for "*" (the sum)."""
    if choice == "*":
        return None
    return next((size for size in sizes if size.facts.id == choice), None) or worst(sizes)


def worst(sizes: Iterable[HostSize]) -> HostSize | None:
    """The host that is nearest to, or furthest over, what it may get."""
    return min(sizes, key=lambda s: (_WORST[s.verdict.word], -s.verdict.tokens), default=None)
