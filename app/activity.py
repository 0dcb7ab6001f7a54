"""The journal as people read it: what hosts asked, called and missed."""

from dataclasses import dataclass

import apsw

from app.changes import Changes
from store import events, queries
from store.connection import transaction
from store.records import EventRecord, LabelRecord

DAY = 86_400.0
ACTIVITY = "activity"


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of one tool within a period."""

    tool: str  # server/tool
    calls: int
    last: float  # seconds since the epoch


def recent_events(db: apsw.Connection, *, after_id: int, limit: int) -> list[EventRecord]:
    """The newest events after one that is known, newest first."""
    return events.recent(db, limit, after_id=after_id)


def usage_since(db: apsw.Connection, since: float) -> dict[str, Usage]:
    """Calls per tool since a moment."""
    found = events.usage(db, since)
    return {tool: Usage(tool, calls, last) for tool, (calls, last) in found.items()}


def label_query(db: apsw.Connection, query: str, tool: str, at: float) -> Changes:
    """Remember that this query should find this tool."""
    with transaction(db):
        queries.save_labels(db, [LabelRecord(0, query, (tool,), ACTIVITY, at)])
    return Changes(labels=True)
