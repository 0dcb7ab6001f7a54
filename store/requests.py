"""Requests that a tool should answer: rows, and their vectors, of which each tool's best counts."""

from collections.abc import Iterable, Mapping, Sequence

import apsw

from store.records import RequestRecord

_COLUMNS = "id, tool_id, text, source, text_hash, dropped, live"
_USABLE = (
    "requests r JOIN request_vectors v ON v.request_id = r.id JOIN tools t ON t.id = r.tool_id"
    " WHERE r.live = 1 AND v.model = ? AND t.gone = 0 AND t.problem = ''"
)


def of_tool(db: apsw.Connection, tool_id: int) -> tuple[RequestRecord, ...]:
    """Every row of a tool, whatever text of it they were written for, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM requests WHERE tool_id = ? ORDER BY id"
    return tuple(_record(row) for row in db.execute(sql, (tool_id,)))


def typed(db: apsw.Connection) -> dict[int, tuple[RequestRecord, ...]]:
    """Every row of the tools for which a user typed requests."""
    rows = list(db.execute("SELECT DISTINCT tool_id FROM requests WHERE source = 'user'"))
    return {row[0]: of_tool(db, row[0]) for row in rows}


def live(db: apsw.Connection, tool_id: int | None = None) -> dict[int, tuple[RequestRecord, ...]]:
    """The requests that count, by tool: of the tool's present text, and not dropped."""
    records: dict[int, list[RequestRecord]] = {}
    of_one, values = ("", ()) if tool_id is None else (" AND tool_id = ?", (tool_id,))
    sql = f"SELECT {_COLUMNS} FROM requests WHERE live = 1{of_one} ORDER BY id"
    for row in db.execute(sql, values):
        records.setdefault(row[1], []).append(_record(row))
    return {id_: tuple(rows) for id_, rows in records.items()}


def add(db: apsw.Connection, rows: Iterable[RequestRecord]) -> None:
    """Store rows that are not there; one that was dropped stays dropped."""
    db.executemany(
        "INSERT OR IGNORE INTO requests (tool_id, text, source, text_hash) VALUES (?, ?, ?, ?)",
        [(row.tool_id, row.text, row.source, row.text_hash) for row in rows],
    )


def replace(db: apsw.Connection, tool_id: int, rows: Sequence[RequestRecord]) -> None:
    """Make a tool's rows equal to these; rows that stay keep their vectors."""
    kept = {row.text for row in rows}
    for old in of_tool(db, tool_id):
        if old.text not in kept:
            db.execute("DELETE FROM requests WHERE id = ?", (old.id,))
    db.executemany(
        "INSERT INTO requests (tool_id, text, source, text_hash, dropped) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (tool_id, text_hash, text) DO UPDATE"
        " SET source = excluded.source, dropped = excluded.dropped",
        [(tool_id, row.text, row.source, row.text_hash, int(row.dropped)) for row in rows],
    )


def mark_live(db: apsw.Connection, text_hashes: Mapping[int, str]) -> set[int]:
    """Let the rows of these tools count where they are of the present text; the tools changed."""
    changed: set[int] = set()
    sql = (
        "SELECT id, tool_id, live, text_hash, dropped FROM requests"
        f" WHERE tool_id IN ({','.join(str(int(id_)) for id_ in text_hashes)})"
    )
    for id_, tool_id, is_live, text_hash, dropped in list(db.execute(sql)):
        counts = int(text_hash == text_hashes[tool_id] and not dropped)
        if counts != is_live:
            db.execute("UPDATE requests SET live = ? WHERE id = ?", (counts, id_))
            changed.add(tool_id)
    return changed


def pending(db: apsw.Connection, model: str) -> list[tuple[int, str]]:
    """Live requests without a vector of this model: (id, text)."""
    sql = (
        "SELECT id, text FROM requests WHERE live = 1 AND id NOT IN"
        " (SELECT request_id FROM request_vectors WHERE model = ?) ORDER BY id"
    )
    return [(row[0], row[1]) for row in db.execute(sql, (model,))]


def save_vectors(db: apsw.Connection, model: str, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store (request id, float32 unit vector)."""
    db.executemany(
        "INSERT OR REPLACE INTO request_vectors (request_id, model, data) VALUES (?, ?, ?)",
        [(id_, model, data) for id_, data in rows],
    )


def vectors(db: apsw.Connection, model: str) -> list[tuple[int, bytes]]:
    """Tool and vector of every live request, by tool."""
    sql = (
        "SELECT r.tool_id, v.data FROM requests r JOIN request_vectors v ON v.request_id = r.id"
        " WHERE r.live = 1 AND v.model = ? ORDER BY r.tool_id, r.id"
    )
    return [(row[0], row[1]) for row in db.execute(sql, (model,))]


def vectors_by_id(db: apsw.Connection, model: str) -> dict[int, bytes]:
    """The vector of every live request, by the request's id."""
    sql = (
        "SELECT r.id, v.data FROM requests r JOIN request_vectors v ON v.request_id = r.id"
        " WHERE r.live = 1 AND v.model = ?"
    )
    return dict(db.execute(sql, (model,)))


def usable(db: apsw.Connection, model: str) -> list[tuple[int, str, bytes]]:
    """Tool, text and vector of every live request of usable tools that are there, by tool."""
    sql = f"SELECT r.tool_id, r.text, v.data FROM {_USABLE} ORDER BY r.tool_id, r.id"
    return [(row[0], row[1], row[2]) for row in db.execute(sql, (model,))]


def counts(db: apsw.Connection) -> tuple[int, int]:
    """Numbers of live requests of usable tools that are there, and of these tools."""
    sql = (
        "SELECT (SELECT count(*) FROM requests r JOIN tools t ON t.id = r.tool_id WHERE r.live = 1"
        " AND t.gone = 0 AND t.problem = ''),"
        " (SELECT count(*) FROM tools WHERE gone = 0 AND problem = '')"
    )
    written, tools = next(db.execute(sql))
    return int(written), int(tools)


def vector_count(db: apsw.Connection, model: str) -> int:
    """Number of live requests of usable tools with a vector of this model."""
    return int(next(db.execute(f"SELECT count(*) FROM {_USABLE}", (model,)))[0])


def embedded_texts(db: apsw.Connection, model: str) -> list[str]:
    """Key of each vector of a catalogue: hash of a tool's text, or text of a live request."""
    sql = (
        "SELECT v.tool_id, v.hash FROM vectors v JOIN tools t ON t.id = v.tool_id"
        " WHERE v.model = ? AND t.gone = 0 UNION ALL"
        " SELECT r.tool_id, r.text FROM requests r WHERE r.live = 1 ORDER BY 1, 2"
    )
    return [f"{id_}:{text}" for id_, text in db.execute(sql, (model,))]


def _record(row: Sequence[object]) -> RequestRecord:
    id_, tool_id, text, source, text_hash, dropped, is_live = row
    assert isinstance(id_, int) and isinstance(tool_id, int)
    return RequestRecord(
        id_, tool_id, str(text), str(source), str(text_hash), bool(dropped), bool(is_live)
    )
