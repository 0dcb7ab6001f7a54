"""Use of tools, from the gateway's journal and the hosts' own records: evidence for proposals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import apsw

from app.core.text import plural
from app.evidence import use as evidence
from app.hosts.facts import host
from store import events
from store.records import Observed

DAY = 86_400.0
ENOUGH_DAYS = 7.0  # with less nothing is called unused


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls by tool id (`server/tool`) over the days observed.

    A call through the gateway is in the journal and, where records are read, in the host's record:
    of the two counts of a tool the larger one is taken, so that none counts twice.
    """

    days: float = 0.0
    seen: Observed = field(default_factory=Observed)
    calls: Mapping[str, int] = field(default_factory=dict)
    last: Mapping[str, float] = field(default_factory=dict)  # seconds since the epoch
    record_hosts: tuple[str, ...] = ()  # ids of hosts whose records were read
    requests: Mapping[str, int] = field(default_factory=dict)  # to a model, by host id
    request_days: Mapping[str, float] = field(default_factory=dict)  # observed, by host id
    unknown: int = 0  # calls in records of tools that the catalogue does not have

    @property
    def enough(self) -> bool:
        """True if the days observed are enough for a proposal."""
        return self.days >= ENOUGH_DAYS

    @property
    def total(self) -> int:
        """Calls of all tools."""
        return sum(self.calls.values())

    @property
    def evidence(self) -> str:
        """One line that says what was observed."""
        days, total = round(self.days), self.total
        if not self.enough:
            few = f"Not enough evidence yet ({int(self.days)} of {int(ENOUGH_DAYS)} days)"
            return f"{few}{self._origin}."
        hosts = plural(max(self.seen.hosts, len(self.record_hosts)), "host")
        observed = f"Observed {plural(days, 'day')}, {hosts}, {plural(total, 'call')}"
        return f"{observed}{self._origin}."

    @property
    def _origin(self) -> str:
        """Source of the counts, in words; "" for the journal alone."""
        if not self.record_hosts:
            return ""
        names = ", ".join(host(one).name for one in self.record_hosts)
        return f", from the gateway's journal and the records of {names}"


def read_usage(db: apsw.Connection, now: float, *, days: float = 30.0) -> Usage:
    """The use of tools over the last `days`."""
    since = now - days * DAY
    seen = events.observed(db, since)
    journal = events.usage(db, since)
    records = evidence.host_use(db, since)
    calls = {tool: number for tool, (number, _last) in journal.items()}
    last = {tool: at for tool, (_number, at) in journal.items()}
    for tool, number in records.calls.items():
        calls[tool] = max(calls.get(tool, 0), number)
        last[tool] = max(last.get(tool, 0.0), records.last[tool])
    firsts = [first for first in (seen.first, records.first) if first]
    return Usage(
        (now - min(firsts)) / DAY if firsts else 0.0,
        seen,
        calls=calls,
        last=last,
        record_hosts=tuple(sorted(records.requests)),
        requests=records.requests,
        request_days={h: now / DAY - day for h, day in records.request_days.items()},
        unknown=records.unknown,
    )
