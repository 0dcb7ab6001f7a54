"""The journal as people read it: what hosts asked, called and missed."""

import apsw

from store import events
from store.records import EventRecord

ACTIVITY = "activity"


def recent_events(db: apsw.Connection, *, after_id: int, limit: int) -> list[EventRecord]:
    """The newest events after one that is known, newest first."""
    return events.recent(db, limit, after_id=after_id)
