"""What the journal knows about the use of tools: the evidence behind every proposal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import apsw

from app.core.text import plural
from store import events
from store.records import Observed

DAY = 86_400.0
ENOUGH_DAYS = 7.0  # with less nothing is called unused


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls by tool id (`server/tool`) over the days observed."""

    days: float = 0.0
    seen: Observed = field(default_factory=Observed)
    calls: Mapping[str, int] = field(default_factory=dict)
    last: Mapping[str, float] = field(default_factory=dict)  # seconds since the epoch

    @property
    def enough(self) -> bool:
        """Whether the days observed carry a proposal."""
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
            return f"Not enough evidence yet ({int(self.days)} of {int(ENOUGH_DAYS)} days)."
        hosts = plural(self.seen.hosts, "host")
        return f"Observed {plural(days, 'day')}, {hosts}, {plural(total, 'call')}."


def read_usage(db: apsw.Connection, now: float, *, days: float = 30.0) -> Usage:
    """The use of tools over the last `days`."""
    since = now - days * DAY
    seen = events.observed(db, since)
    calls_of = events.usage(db, since)
    return Usage(
        (now - seen.first) / DAY if seen.first else 0.0,
        seen,
        calls={tool: calls for tool, (calls, _last) in calls_of.items()},
        last={tool: last for tool, (_calls, last) in calls_of.items()},
    )
