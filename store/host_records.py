"""Calls and requests taken from the hosts' own records."""

from collections.abc import Iterable

import apsw

from store.records import HostCall, HostRecord

_COLUMNS = "id, host, file, size, changed, position, last_request, problem"


def all_records(db: apsw.Connection) -> dict[str, HostRecord]:
    """Every file read so far, by its path."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM host_records")
    return {row[2]: HostRecord(*row) for row in rows}


def save_record(db: apsw.Connection, record: HostRecord) -> int:
    """Store how far a file was read; its id."""
    row = db.execute(
        "INSERT INTO host_records (host, file, size, changed, position, last_request, problem)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (file) DO UPDATE SET size = excluded.size,"
        " changed = excluded.changed, position = excluded.position,"
        " last_request = excluded.last_request, problem = excluded.problem RETURNING id",
        (
            record.host,
            record.file,
            record.size,
            record.changed,
            record.position,
            record.last_request,
            record.problem,
        ),
    )
    return int(next(iter(row))[0])


def forget_calls(db: apsw.Connection, record_id: int) -> None:
    """Drop the rows of a file: it is read from its beginning."""
    db.execute("DELETE FROM host_calls WHERE record_id = ?", (record_id,))
    db.execute("DELETE FROM host_requests WHERE record_id = ?", (record_id,))


def add_calls(db: apsw.Connection, record_id: int, host: str, calls: Iterable[HostCall]) -> None:
    """Add calls; one that is known counts once."""
    for call in calls:
        key = (host, call.server, call.tool)
        db.execute("INSERT OR IGNORE INTO host_tools (host, server, tool) VALUES (?, ?, ?)", key)
        db.execute(
            "INSERT OR IGNORE INTO host_calls (record_id, call, tool_id, at)"
            " SELECT ?, ?, id, ? FROM host_tools WHERE host = ? AND server = ? AND tool = ?",
            (record_id, call.call, call.at, *key),
        )


def add_requests(db: apsw.Connection, record_id: int, by_day: Iterable[tuple[int, int]]) -> None:
    """Add requests to a model, as (day, number)."""
    db.executemany(
        "INSERT INTO host_requests (record_id, day, requests) VALUES (?, ?, ?)"
        " ON CONFLICT (record_id, day) DO UPDATE SET requests = requests + excluded.requests",
        [(record_id, day, number) for day, number in by_day],
    )


def calls_since(db: apsw.Connection, since: float) -> list[tuple[str, str, str, int, float]]:
    """(host, server, tool, calls, time of the last) since a moment."""
    sql = (
        "SELECT t.host, t.server, t.tool, count(*), max(c.at) FROM host_calls c"
        " JOIN host_tools t ON t.id = c.tool_id WHERE c.at >= ? GROUP BY t.id"
    )
    return list(db.execute(sql, (since,)))


def session_calls(
    db: apsw.Connection, since: float, without: str
) -> list[tuple[int, str, str, str, str, int]]:
    """(record, its file, host, server, tool, calls) of each tool that a record names, by record."""
    sql = (
        "SELECT c.record_id, r.file, t.host, t.server, t.tool, count(*) FROM host_calls c"
        " JOIN host_tools t ON t.id = c.tool_id JOIN host_records r ON r.id = c.record_id"
        " WHERE c.at >= ? AND t.host <> ? GROUP BY c.record_id, t.id ORDER BY c.record_id"
    )
    return list(db.execute(sql, (since, without)))


def requests_since(db: apsw.Connection, day: int) -> list[tuple[str, int, int]]:
    """(host, requests, first day) since a day."""
    sql = (
        "SELECT r.host, sum(q.requests), min(q.day) FROM host_requests q"
        " JOIN host_records r ON r.id = q.record_id WHERE q.day >= ? GROUP BY r.host"
    )
    return list(db.execute(sql, (day,)))


def first_call(db: apsw.Connection, since: float) -> float:
    """Time of the first call since a moment, 0.0 without one."""
    row = next(iter(db.execute("SELECT min(at) FROM host_calls WHERE at >= ?", (since,))))
    return float(row[0] or 0.0)


def prune(db: apsw.Connection, before: float) -> None:
    """Drop calls and requests from before a moment."""
    db.execute("DELETE FROM host_calls WHERE at < ?", (before,))
    db.execute("DELETE FROM host_requests WHERE day < ?", (int(before // 86_400),))


def forget_all(db: apsw.Connection) -> None:
    """Drop the rows of all records."""
    db.execute("DELETE FROM host_records")
    db.execute("DELETE FROM host_tools")
