"""The journal as people read it: what hosts asked, called and missed."""

import apsw

from app.core.changes import Changes
from store import events, queries
from store.connection import transaction
from store.records import EventRecord, LabelRecord

ACTIVITY = "activity"


def recent_events(db: apsw.Connection, *, after_id: int, limit: int) -> list[EventRecord]:
    """The newest events after one that is known, newest first."""
    return events.recent(db, limit, after_id=after_id)


def label_query(db: apsw.Connection, query: str, tool: str, at: float) -> Changes:
    """Remember that this query should find this tool."""
    with transaction(db):
        queries.save_labels(db, [LabelRecord(0, query, (tool,), ACTIVITY, at)])
    return Changes(labels=True)
