"""Tools behind tools that hide others: names that a server gave when it was asked or called."""

from collections.abc import Iterable

import apsw

ASKED = "asked"
MISSING = "missing"  # not a tool: a server behind of which no tool was named


def replace(
    db: apsw.Connection,
    server_id: int,
    rows: Iterable[tuple[str, str, int]],
    at: float,
    missing: Iterable[str] = (),
) -> None:
    """Keep what a server answered: (tool that hides it, name, tokens), instead of the last time.

    `missing` are servers behind it of which it named no tool.
    """
    old = "DELETE FROM hidden_tools WHERE server_id = ? AND source IN (?, ?)"
    db.execute(old, (server_id, ASKED, MISSING))
    kept = [(server_id, tool, name, tokens, ASKED, at) for tool, name, tokens in rows]
    kept += [(server_id, "", name, 0, MISSING, at) for name in missing]
    db.executemany(
        "INSERT OR REPLACE INTO hidden_tools (server_id, tool, name, tokens, source, at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        kept,
    )


def answers(db: apsw.Connection) -> list[tuple[int, str, str, int]]:
    """(server id, tool, name behind it, tokens) of every answer."""
    sql = (
        "SELECT server_id, tool, name, tokens FROM hidden_tools WHERE source != ?"
        " ORDER BY server_id, tool, name"
    )
    return list(db.execute(sql, (MISSING,)))


def missing(db: apsw.Connection) -> list[tuple[int, str]]:
    """(server id, server behind it) of each of which no tool was named."""
    sql = "SELECT server_id, name FROM hidden_tools WHERE source = ? ORDER BY server_id, name"
    return list(db.execute(sql, (MISSING,)))


def seen(db: apsw.Connection) -> list[tuple[str, str]]:
    """(server/tool, name behind it) of the calls in the journal that named one."""
    sql = (
        "SELECT DISTINCT tool, json_extract(detail, '$.behind') FROM events WHERE kind = 'call'"
        " AND json_valid(detail) AND json_extract(detail, '$.behind') IS NOT NULL"
    )
    return [(tool, str(name)) for tool, name in db.execute(sql)]


def grown(db: apsw.Connection) -> list[tuple[int, str, int]]:
    """(server id, tool, tokens) of tools that came after a server's first list, and are gone."""
    sql = (
        "SELECT t.server_id, t.name, coalesce(max(c.host_text), 0) FROM tools t"
        " LEFT JOIN token_counts c ON c.tool_id = t.id WHERE t.gone AND t.first_seen >"
        " (SELECT min(first_seen) FROM tools o WHERE o.server_id = t.server_id) GROUP BY t.id"
    )
    return list(db.execute(sql))
