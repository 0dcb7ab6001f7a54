"""Tools as raw JSON, and what was made of them: summaries and token counts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from store.damage import UNUSABLE, json_object
from store.definitions import same_definition
from store.records import NewTool, Summary, TokenCount, ToolDelta, ToolRecord
from store.typed import Json, compact_json

_SELECT = (
    "SELECT t.id, t.server_id, s.name, t.name, t.raw, t.hash, t.trusted_hash, t.problem,"
    " t.position, t.first_seen, t.last_seen, t.gone, t.trusted_raw FROM tools t JOIN servers s"
    " ON s.id = t.server_id"
)


def tools(
    db: apsw.Connection, server_id: int | None = None, *, include_gone: bool = False
) -> list[ToolRecord]:
    """Tools of one server or of all, in the servers' own order."""
    where = ["1"] if include_gone else ["t.gone = 0"]
    if server_id is not None:
        where.append("t.server_id = :server")
    sql = f"{_SELECT} WHERE {' AND '.join(where)} ORDER BY s.name COLLATE NOCASE, t.position, t.id"
    return [_tool(row) for row in db.execute(sql, {"server": server_id})]


def outline(db: apsw.Connection) -> str:
    """A short text that differs when tools came or went."""
    rows = db.execute("SELECT count(*), coalesce(max(id), 0) FROM tools")
    return "-".join(map(str, next(iter(rows))))


def one(db: apsw.Connection, tool_id: int) -> ToolRecord | None:
    """The tool with that row id, or None."""
    row = db.execute(f"{_SELECT} WHERE t.id = ?", (tool_id,)).fetchone()
    return _tool(row) if row else None


def save_list(db: apsw.Connection, server_id: int, new: Sequence[NewTool], at: float) -> ToolDelta:
    """Make the server's tools equal to `new`; what was added, changed or is gone.

    A tool's first text becomes the trusted one. The second tool of the same name in a list is
    kept as a row of its own.
    """
    old = {
        (name, twin): (tool_id, hash_, gone)
        for tool_id, name, twin, hash_, gone in db.execute(
            "SELECT id, name, twin, hash, gone FROM tools WHERE server_id = ?", (server_id,)
        )
    }
    added, changed, same = [], [], 0
    twins: Counter[str] = Counter()
    for position, tool in enumerate(new):
        key = (tool.name, twins[tool.name])
        twins[tool.name] += 1
        known = old.pop(key, None)
        if known is None:
            added.append(_insert(db, server_id, key, tool, position, at))
            continue
        tool_id, hash_, _ = known
        if hash_ != tool.hash:
            tool = _as_stored(db, tool_id, tool)
        _update(db, tool_id, tool, position, at)
        if hash_ != tool.hash:
            changed.append(tool_id)
        else:
            same += 1
    gone = [tool_id for tool_id, _, was_gone in old.values() if not was_gone]
    db.executemany("UPDATE tools SET gone = 1 WHERE id = ?", [(i,) for i in gone])
    return ToolDelta(tuple(added), tuple(changed), tuple(gone), same)


def _as_stored(db: apsw.Connection, tool_id: int, tool: NewTool) -> NewTool:
    """The tool with the text that is stored or trusted, where it is the same in another order."""
    sql = "SELECT hash, raw, trusted_hash, trusted_raw FROM tools WHERE id = ?"
    row = db.execute(sql, (tool_id,)).fetchone() or ("", "", "", "")
    for earlier, text in ((row[2], row[3]), (row[0], row[1])):
        kept = json_object(text) if text else None
        if kept is not None and same_definition(tool.raw, kept):
            return NewTool(tool.name, kept, earlier, tool.problem)
    return tool


def _insert(
    db: apsw.Connection,
    server_id: int,
    key: tuple[str, int],
    tool: NewTool,
    position: int,
    at: float,
) -> int:
    raw = compact_json(tool.raw)
    db.execute(
        "INSERT INTO tools (server_id, name, twin, position, raw, hash, trusted_hash, problem,"
        " first_seen, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (server_id, *key, position, raw, tool.hash, tool.hash, tool.problem, at, at),
    )
    return db.last_insert_rowid()


def _update(db: apsw.Connection, tool_id: int, tool: NewTool, position: int, at: float) -> None:
    # the text that was trusted is kept as long as the present one differs from it
    db.execute(
        "UPDATE tools SET trusted_raw = CASE WHEN :hash = trusted_hash THEN ''"
        " WHEN hash = trusted_hash THEN raw ELSE trusted_raw END,"
        " position = :position, raw = :raw, hash = :hash, problem = :problem, last_seen = :at,"
        " gone = 0 WHERE id = :id",
        {
            "hash": tool.hash,
            "position": position,
            "raw": compact_json(tool.raw),
            "problem": tool.problem,
            "at": at,
            "id": tool_id,
        },
    )


def trust(db: apsw.Connection, tool_ids: Iterable[int]) -> None:
    """Take the tools' present texts as the trusted ones."""
    db.executemany(
        "UPDATE tools SET trusted_hash = hash, trusted_raw = '' WHERE id = ?",
        [(i,) for i in tool_ids],
    )


def trust_earlier(db: apsw.Connection, tool_id: int, hash_: str, raw: Json | None) -> None:
    """Take an earlier text as the trusted one again; None where it was not kept."""
    db.execute(
        "UPDATE tools SET trusted_hash = :hash,"
        " trusted_raw = CASE WHEN hash = :hash THEN '' WHEN trusted_hash = :hash THEN trusted_raw"
        " ELSE :raw END WHERE id = :id",
        {"hash": hash_, "raw": "" if raw is None else compact_json(raw), "id": tool_id},
    )


def summaries(db: apsw.Connection) -> dict[int, Summary]:
    """Every summary by tool."""
    rows = db.execute("SELECT tool_id, text, source, hash FROM summaries")
    return {row[0]: Summary(*row) for row in rows}


def save_summaries(db: apsw.Connection, rows: Iterable[Summary]) -> None:
    """Store summaries; one made by Toolcrib never replaces one that a user wrote."""
    db.executemany(
        "INSERT INTO summaries (tool_id, text, source, hash) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET text = excluded.text, source = excluded.source,"
        " hash = excluded.hash WHERE summaries.source != 'user' OR excluded.source != 'made'",
        [(s.tool_id, s.text, s.source, s.hash) for s in rows],
    )


def put_summary(db: apsw.Connection, row: Summary) -> None:
    """Store a summary in place of the one before."""
    db.execute(
        "INSERT OR REPLACE INTO summaries (tool_id, text, source, hash) VALUES (?, ?, ?, ?)",
        (row.tool_id, row.text, row.source, row.hash),
    )


def token_counts(db: apsw.Connection, encoding: str) -> dict[int, TokenCount]:
    """Every count under one encoding, by tool."""
    rows = db.execute(
        "SELECT tool_id, encoding, name, description, input_schema, output_schema, annotations,"
        " host_text FROM token_counts WHERE encoding = ?",
        (encoding,),
    )
    return {row[0]: TokenCount(*row) for row in rows}


def save_token_counts(db: apsw.Connection, rows: Iterable[TokenCount]) -> None:
    """Store counts, replacing older ones of the same tool and encoding."""
    db.executemany(
        "INSERT OR REPLACE INTO token_counts (tool_id, encoding, name, description, input_schema,"
        " output_schema, annotations, host_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                c.tool_id,
                c.encoding,
                c.name,
                c.description,
                c.input_schema,
                c.output_schema,
                c.annotations,
                c.host_text,
            )
            for c in rows
        ],
    )


def _tool(row: tuple[Any, ...]) -> ToolRecord:
    """The record; of a damaged definition the name alone is left, which no host gets."""
    raw = json_object(row[4])
    return ToolRecord(
        id=row[0],
        server_id=row[1],
        server=row[2],
        name=row[3],
        raw={"name": row[3]} if raw is None else raw,
        hash=row[5],
        trusted_hash=row[6],
        problem=UNUSABLE if raw is None else row[7],
        position=row[8],
        first_seen=row[9],
        last_seen=row[10],
        gone=bool(row[11]),
        trusted_raw=json_object(row[12]) if row[12] else None,
    )
