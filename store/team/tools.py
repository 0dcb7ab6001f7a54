"""Tools of the team with their vectors, requests and words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pgvector import HalfVector
from psycopg.types.json import Json as AsJson

from store.team.connecting import Connection
from store.team.reading import all_of, changed
from store.team.records import NewRequest, NewTool, Tool
from store.team.words import stems_of

DIMS = 384  # of the vector columns
_COLUMNS = (
    "t.id, t.server_id, s.name, t.name, t.tool_id, t.raw, t.hash, t.trusted_hash, t.held,"
    " t.problem, t.position, t.summary, t.tokens, coalesce(d.decision, ''), t.updated"
)
_FROM = (
    "tools t JOIN servers s ON s.id = t.server_id"
    " LEFT JOIN decisions d ON d.tool_id = t.id AND d.hash = t.hash"
)
_SAVE = (
    "INSERT INTO tools (organisation_id, server_id, scope_id, tool_id, name, raw, hash,"
    " trusted_hash, held, problem, position, summary, tokens, words, length)"
    " SELECT s.organisation_id, s.id, s.scope_id, s.name || '/' || %(name)s::text, %(name)s,"
    " %(raw)s, %(hash)s, %(trusted)s, %(held)s, %(problem)s, %(position)s,"
    " %(summary)s, %(tokens)s, %(words)s::tsvector, %(length)s FROM servers s"
    " WHERE s.organisation_id = %(organisation)s AND s.id = %(server)s"
    " ON CONFLICT (organisation_id, tool_id) DO UPDATE SET raw = excluded.raw,"
    " hash = excluded.hash, trusted_hash = excluded.trusted_hash, held = excluded.held,"
    " problem = excluded.problem, position = excluded.position,"
    " summary = excluded.summary, tokens = excluded.tokens, words = excluded.words,"
    " length = excluded.length, updated = now() RETURNING id, scope_id"
)


def save(
    connection: Connection, organisation_id: int, server_id: int, tools: Iterable[NewTool]
) -> list[int]:
    """Save a server's list: new and changed tools are written, others of it deleted; the ids.

    Raises LookupError if the caller has no such server.
    """
    ids: list[int] = []
    words: Counter[str] = Counter()
    literals: list[str] = []
    scope = 0
    tools = list(tools)
    with connection.cursor() as cursor:
        values = [_values(organisation_id, server_id, tool) for tool in tools]
        if values:
            cursor.executemany(_SAVE.encode(), values, returning=True)
        for result in cursor.results() if values else ():
            row = result.fetchone()
            if row is None:
                raise LookupError(f"no server {server_id}")
            id_, scope = _numbers(row)
            ids.append(id_)
    saved = list(zip(ids, tools, strict=True))
    _save_vectors(connection, organisation_id, scope, saved)
    _save_requests(connection, organisation_id, scope, saved)
    for tool in tools:
        words.update(tool.vocabulary)
        literals.append(tool.words)
    changed(
        connection,
        "DELETE FROM tools WHERE organisation_id = %(organisation)s AND server_id = %(server)s"
        " AND NOT id = ANY(%(kept)s)",
        {"organisation": organisation_id, "server": server_id, "kept": ids},
    )
    _save_vocabulary(connection, organisation_id, server_id, words)
    _save_stems(connection, organisation_id, server_id, literals)
    refresh_mean(connection, organisation_id, server_id)
    return ids


def every(
    connection: Connection,
    organisation_id: int,
    *,
    server: int | None = None,
    held: bool | None = None,
) -> list[Tool]:
    """Tools that the caller sees, by id: of one server, or in one state, where that is given."""
    where = " AND t.server_id = %(server)s" * (server is not None)
    where += " AND t.held = %(held)s" * (held is not None)
    return _read(connection, organisation_id, f"true{where}", server=server, held=held)


def _read(connection: Connection, organisation_id: int, where: str, **values: object) -> list[Tool]:
    sql = (
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE t.organisation_id = %(organisation)s"
        f" AND {where} ORDER BY t.id"
    )
    return all_of(connection, Tool, sql, {"organisation": organisation_id, **values})


def counts(connection: Connection, organisation_id: int) -> dict[int, tuple[int, int]]:
    """Numbers of tools, and of those that are held, by server."""
    sql = (
        "SELECT server_id, count(*), count(*) FILTER (WHERE held) FROM tools"
        " WHERE organisation_id = %(organisation)s GROUP BY server_id"
    )
    values = {"organisation": organisation_id}
    rows = all_of(connection, lambda *row: row, sql, values)
    return {server: (number, held) for server, number, held in rows}


def some(connection: Connection, organisation_id: int, ids: Sequence[int]) -> list[Tool]:
    """Those of these tools that the caller sees."""
    return _read(connection, organisation_id, "t.id = ANY(%(ids)s)", ids=list(ids))


def named(connection: Connection, organisation_id: int, tool_id: str) -> Tool | None:
    """The tool called `server/tool`, if the caller sees it."""
    rows = _read(connection, organisation_id, "t.tool_id = %(tool)s", tool=tool_id)
    return rows[0] if rows else None


def count(connection: Connection, organisation_id: int) -> int:
    """Number of tools that the caller sees."""
    sql = "SELECT count(*) FROM tools WHERE organisation_id = %(organisation)s"
    rows = all_of(connection, int, sql, {"organisation": organisation_id})
    return rows[0]


def vectors(
    connection: Connection, organisation_id: int, model: str, ids: Sequence[int]
) -> dict[int, tuple[str, bytes]]:
    """Text hash and vector (float32 bytes) of those of these tools that have one."""
    sql = (
        "SELECT tool_id, hash, v FROM tool_vectors WHERE organisation_id = %(organisation)s"
        " AND model = %(model)s AND tool_id = ANY(%(ids)s)"
    )
    values = {"organisation": organisation_id, "model": model, "ids": list(ids)}
    return dict(all_of(connection, _vector, sql, values))


def requests(
    connection: Connection, organisation_id: int, ids: Sequence[int]
) -> dict[int, list[NewRequest]]:
    """The requests of those of these tools that the caller sees, without vectors."""
    sql = (
        "SELECT tool_id, text, source, text_hash FROM requests"
        " WHERE organisation_id = %(organisation)s AND tool_id = ANY(%(ids)s) ORDER BY id"
    )
    values = {"organisation": organisation_id, "ids": list(ids)}
    by_tool: dict[int, list[NewRequest]] = {}
    for tool, request in all_of(connection, _request, sql, values):
        by_tool.setdefault(tool, []).append(request)
    return by_tool


def refresh_mean(connection: Connection, organisation_id: int, server_id: int) -> None:
    """Write a server's mean vector anew, for the ranking of large catalogues."""
    sql = (
        "SELECT v.v FROM tool_vectors v JOIN tools t ON t.id = v.tool_id"
        " WHERE v.organisation_id = %(organisation)s AND t.server_id = %(server)s"
    )
    values = {"organisation": organisation_id, "server": server_id}
    rows = [_floats(row[0]) for row in connection.execute(sql.encode(), values).fetchall()]
    if not rows:
        return
    total = np.stack(rows).mean(axis=0, dtype=np.float32)
    length = float(np.linalg.norm(total))
    changed(
        connection,
        "UPDATE servers SET mean = %(mean)s, alike = %(alike)s"
        " WHERE organisation_id = %(organisation)s AND id = %(server)s",
        values
        | {
            "mean": half((total / np.float32(max(length, 1e-9))).tobytes()),
            "alike": length,
        },
    )


def half(data: bytes) -> HalfVector:
    """A vector of float32 bytes as the database keeps it; raises ValueError for another length."""
    if len(data) != DIMS * 4:
        raise ValueError(f"a vector of {len(data) // 4} numbers, not {DIMS}")
    return HalfVector(np.frombuffer(data, dtype="<f4"))


def _values(organisation_id: int, server_id: int, tool: NewTool) -> dict[str, object]:
    return {
        "organisation": organisation_id,
        "server": server_id,
        "name": tool.name,
        "raw": AsJson(tool.raw),
        "hash": tool.hash,
        "trusted": tool.trusted_hash,
        "held": tool.held,
        "problem": tool.problem,
        "position": tool.position,
        "summary": tool.summary,
        "tokens": tool.tokens,
        "words": tool.words,
        "length": tool.length,
    }


def _save_vectors(
    connection: Connection, organisation_id: int, scope: int, saved: Sequence[tuple[int, NewTool]]
) -> None:
    sql = (
        "INSERT INTO tool_vectors (tool_id, organisation_id, scope_id, model, hash, v) VALUES"
        " (%(tool)s, %(organisation)s, %(scope)s, %(model)s, %(hash)s, %(v)s)"
        " ON CONFLICT (tool_id, model) DO UPDATE SET hash = excluded.hash, v = excluded.v"
        " WHERE tool_vectors.hash <> excluded.hash"
    )
    values = [
        {
            "tool": id_,
            "organisation": organisation_id,
            "scope": scope,
            "model": model,
            "hash": hash_,
            "v": half(data),
        }
        for id_, tool in saved
        for model, (hash_, data) in tool.vectors.items()
    ]
    _many(connection, sql, values)


def _save_requests(
    connection: Connection, organisation_id: int, scope: int, saved: Sequence[tuple[int, NewTool]]
) -> None:
    base = {"organisation": organisation_id, "scope": scope}
    dropped = (
        "DELETE FROM requests WHERE organisation_id = %(organisation)s AND tool_id = %(tool)s"
        " AND NOT text = ANY(%(texts)s)"
    )
    texts = {id_: [request.text for request in tool.requests] for id_, tool in saved}
    _many(
        connection,
        dropped,
        [base | {"tool": id_, "texts": written} for id_, written in texts.items()],
    )
    written = (
        "INSERT INTO requests (organisation_id, scope_id, tool_id, text, source, text_hash)"
        " VALUES (%(organisation)s, %(scope)s, %(tool)s, %(text)s, %(source)s, %(hash)s)"
        " ON CONFLICT (tool_id, text) DO UPDATE SET source = excluded.source,"
        " text_hash = excluded.text_hash"
    )
    encoded = (
        "INSERT INTO request_vectors (request_id, organisation_id, scope_id, tool_id, model, v)"
        " SELECT id, organisation_id, scope_id, tool_id, %(model)s, %(v)s FROM requests"
        " WHERE organisation_id = %(organisation)s AND tool_id = %(tool)s AND text = %(text)s"
        " ON CONFLICT (request_id, model) DO NOTHING"
    )
    rows: list[dict[str, object]] = []
    vectors: list[dict[str, object]] = []
    for id_, tool in saved:
        for request in tool.requests:
            row = base | {"tool": id_, "text": request.text}
            rows.append(row | {"source": request.source, "hash": request.text_hash})
            vectors += [row | {"model": m, "v": half(v)} for m, v in request.vectors.items()]
    _many(connection, written, rows)
    _many(connection, encoded, vectors)


def _many(connection: Connection, sql: str, values: Sequence[Mapping[str, object]]) -> None:
    """One statement with many values: sent together, each waits for no answer."""
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(sql.encode(), values)


def _save_vocabulary(
    connection: Connection, organisation_id: int, server_id: int, words: Counter[str]
) -> None:
    base = {"organisation": organisation_id, "server": server_id}
    changed(
        connection,
        "DELETE FROM vocabulary WHERE organisation_id = %(organisation)s"
        " AND server_id = %(server)s",
        base,
    )
    changed(
        connection,
        "INSERT INTO vocabulary (organisation_id, scope_id, server_id, word, count)"
        " SELECT s.organisation_id, s.scope_id, s.id, w.word, w.n FROM servers s,"
        " unnest(%(words)s::text[], %(counts)s::int[]) w(word, n)"
        " WHERE s.organisation_id = %(organisation)s AND s.id = %(server)s",
        base | {"words": list(words), "counts": list(words.values())},
    )


def _save_stems(
    connection: Connection, organisation_id: int, server_id: int, literals: Sequence[str]
) -> None:
    base = {"organisation": organisation_id, "server": server_id}
    counts = stems_of(literals)
    changed(
        connection,
        "DELETE FROM stems WHERE organisation_id = %(organisation)s AND server_id = %(server)s",
        base,
    )
    changed(
        connection,
        "INSERT INTO stems (organisation_id, scope_id, server_id, stem, tools)"
        " SELECT s.organisation_id, s.scope_id, s.id, w.stem, w.n FROM servers s,"
        " unnest(%(stems)s::text[], %(counts)s::int[]) w(stem, n)"
        " WHERE s.organisation_id = %(organisation)s AND s.id = %(server)s",
        base | {"stems": list(counts), "counts": list(counts.values())},
    )


def _numbers(row: Sequence[object]) -> tuple[int, int]:
    first, second = row
    assert isinstance(first, int) and isinstance(second, int)
    return first, second


def _floats(value: object) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    assert isinstance(value, HalfVector)
    single: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    single = value.to_numpy().astype(np.float32)
    return single


def _vector(id_: int, hash_: str, value: HalfVector) -> tuple[int, tuple[str, bytes]]:
    return id_, (hash_, _floats(value).tobytes())


def _request(id_: int, text: str, source: str, text_hash: str) -> tuple[int, NewRequest]:
    return id_, NewRequest(text, source, text_hash)
