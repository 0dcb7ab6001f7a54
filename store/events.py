"""The journal: one row per routing decision, call, miss, eviction or load."""

import json
from collections.abc import Sequence

import apsw

from store.damage import json_object
from store.records import EventRecord, Observed, storable
from store.typed import Any

_COLUMNS = "at, kind, profile, host, session, tool, query, tokens, ms, problem, detail"
_LONGEST_TOOL = 300  # characters: a model may call what it likes


def add(db: apsw.Connection, events: Sequence[EventRecord]) -> None:
    """Append events; names and queries are as a host or a model sent them."""
    db.executemany(
        f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                e.at,
                e.kind,
                e.profile,
                storable(e.host),
                e.session,
                _tool(e),
                storable(e.query),
                e.tokens,
                e.ms,
                storable(e.problem),
                storable(json.dumps(e.detail, ensure_ascii=False)) if e.detail else "{}",
            )
            for e in events
        ],
    )


def has(db: apsw.Connection, event: EventRecord) -> bool:
    """True if the journal holds this event of its session."""
    sql = "SELECT 1 FROM events WHERE at = ? AND session = ? AND kind = ? AND tool = ?"
    row = db.execute(sql, (event.at, event.session, event.kind, _tool(event))).fetchone()
    return row is not None


def _tool(event: EventRecord) -> str:
    return storable(event.tool[:_LONGEST_TOOL])


def since(db: apsw.Connection, at: float) -> list[EventRecord]:
    """The events since a moment, the oldest first."""
    sql = f"SELECT {_COLUMNS}, id FROM events WHERE at >= ? ORDER BY id"
    return [_event(row) for row in db.execute(sql, (at,))]


def recent(db: apsw.Connection, limit: int, *, after_id: int = 0) -> list[EventRecord]:
    """The newest events, newest first, of those after an id."""
    sql = f"SELECT {_COLUMNS}, id FROM events WHERE id > ? ORDER BY id DESC LIMIT ?"
    return [_event(row) for row in db.execute(sql, (after_id, limit))]


def of_kinds(db: apsw.Connection, kinds: Sequence[str], since: float) -> list[EventRecord]:
    """The events of these kinds since a moment, the oldest first."""
    marks = ", ".join("?" * len(kinds))
    sql = f"SELECT {_COLUMNS}, id FROM events WHERE at >= ? AND kind IN ({marks}) ORDER BY at, id"
    return [_event(row) for row in db.execute(sql, (since, *kinds))]


def _event(row: tuple[Any, ...]) -> EventRecord:
    return EventRecord(*(*row[:10], json_object(row[10]) or {}, row[11]))


def usage(db: apsw.Connection, since: float) -> dict[str, tuple[int, float]]:
    """Calls and time of the last one since a moment, by tool id (`server/tool`)."""
    sql = "SELECT tool, count(*), max(at) FROM events WHERE kind = 'call' AND at >= ? GROUP BY tool"
    return {tool: (calls, last) for tool, calls, last in db.execute(sql, (since,))}


def observed(db: apsw.Connection, since: float) -> Observed:
    """Summary of the journal since a moment."""
    sql = (
        "SELECT coalesce(min(at), 0), count(DISTINCT nullif(host, '')),"
        " coalesce(sum(kind = 'search'), 0), coalesce(sum(kind = 'miss'), 0),"
        " coalesce(sum(problem <> '' AND (kind = 'call'"
        " OR kind = 'error' AND tool <> '' AND tool NOT LIKE '%/')), 0)"
        " FROM events WHERE at >= ?"
    )
    return Observed(*next(iter(db.execute(sql, (since,)))))


def session_calls(db: apsw.Connection, since: float) -> list[tuple[str, str, str, int]]:
    """(session, host, tool id, calls) of each tool that a session called, by session."""
    sql = (
        "SELECT session, max(host), tool, count(*) FROM events WHERE kind = 'call' AND at >= ?"
        " AND session <> '' AND tool <> '' GROUP BY session, tool ORDER BY session"
    )
    return list(db.execute(sql, (since,)))


def prune(db: apsw.Connection, keep: int) -> None:
    """Forget all but the newest `keep` events."""
    db.execute("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", (keep,))
