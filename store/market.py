"""Servers that could be installed: where lists of them come from, what they list, an index of it.

A document of the index is a server (its row id) or a tool (its row id, negative).
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

import apsw

from store.search import phrase
from store.typed import Json

MOST_INFLATED = 1 << 20  # bytes of one entry
_COLUMNS = (
    "id, url, name, header, private, cursor, since, newest, round, synced_at, problem,"
    " (SELECT count(*) FROM market_servers s WHERE s.source_id = market_sources.id)"
)


@dataclass(frozen=True, slots=True)
class MarketSource:
    """A registry that is asked for its list."""

    id: int
    url: str
    name: str
    header: str = ""
    private: int = False  # 1: addresses of the user's own network are right
    cursor: str = ""
    since: str = ""
    newest: str = ""
    round: int = 0
    synced_at: float = 0.0
    problem: str = ""
    servers: int = 0


@dataclass(frozen=True, slots=True)
class MarketTool:
    """A tool that a listed package is known to have."""

    name: str
    text: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class MarketServer:
    """One listed server, its newest version."""

    name: str
    version: str
    skeleton: str
    package: str
    status: str
    published_at: str
    updated_at: str
    title: str  # these two are searched
    text: str
    entry: bytes  # JSON: server.json and what the registry says of it
    tools: tuple[MarketTool, ...] = ()
    id: int = 0
    source_id: int = 0


# ---- sources


def sources(db: apsw.Connection) -> tuple[MarketSource, ...]:
    """Every source, in the order they were added."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM market_sources ORDER BY id")
    return tuple(MarketSource(*row) for row in rows)


def add_source(db: apsw.Connection, source: MarketSource) -> int:
    """A new source; its id."""
    db.execute(
        "INSERT INTO market_sources (url, name, header, private) VALUES (?, ?, ?, ?)",
        (source.url, source.name, source.header, int(source.private)),
    )
    return db.last_insert_rowid()


def remove_source(db: apsw.Connection, source_id: int) -> None:
    """Forget a source and all it lists."""
    ids = [row[0] for row in db.execute(_IDS_OF, (source_id,))]
    _drop(db, ids)
    db.execute("DELETE FROM market_sources WHERE id = ?", (source_id,))
    drop_orphans(db)


_IDS_OF = "SELECT id FROM market_servers WHERE source_id = ?"


def begin_sync(db: apsw.Connection, source_id: int, since: str) -> None:
    """Note the start of a sync: a full one where `since` is empty, which opens a new round."""
    db.execute(
        "UPDATE market_sources SET since = ?, cursor = '', round = round + (? = '') WHERE id = ?",
        (since, since, source_id),
    )


def note_page(db: apsw.Connection, source_id: int, cursor: str, newest: str) -> None:
    """Note how far a sync has come; in the transaction that stores the page."""
    db.execute(
        "UPDATE market_sources SET cursor = ?, newest = max(newest, ?) WHERE id = ?",
        (cursor, newest, source_id),
    )


def end_sync(db: apsw.Connection, source: MarketSource, at: float, mark: str = "") -> int:
    """Note the end; after a full sync what was not listed again goes. The number of those.

    `mark` takes the place of the newest entry's time, for a list that is not synced by time.
    """
    gone: list[int] = []
    if not source.since:
        sql = f"{_IDS_OF} AND round < (SELECT round FROM market_sources WHERE id = ?)"
        gone = [row[0] for row in db.execute(sql, (source.id, source.id))]
        _drop(db, gone)
        drop_orphans(db)
    db.execute(
        "UPDATE market_sources SET cursor = '', since = '', synced_at = ?, problem = '',"
        " newest = CASE ? WHEN '' THEN newest ELSE ? END WHERE id = ?",
        (at, mark, mark, source.id),
    )
    return len(gone)


def set_problem(db: apsw.Connection, source_id: int, problem: str) -> None:
    """Keep why a sync ended early."""
    db.execute("UPDATE market_sources SET problem = ? WHERE id = ?", (problem, source_id))


# ---- servers


def save(db: apsw.Connection, source: MarketSource, rows: Iterable[MarketServer]) -> None:
    """Store listed servers with their known tools, replacing older versions."""
    for row in rows:
        known = db.execute(
            "SELECT id, title, text FROM market_servers WHERE source_id = ? AND name = ?",
            (source.id, row.name),
        ).fetchone()
        packed = zlib.compress(row.entry, 6)
        values = (
            row.version, row.skeleton, row.package, row.status, row.published_at,
            row.updated_at, source.round, row.title, row.text, packed, source.id, row.name,
        )  # fmt: skip
        if known is None:
            db.execute(
                "INSERT INTO market_servers (version, skeleton, package, status, published_at,"
                " updated_at, round, title, text, entry, source_id, name)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            id_ = db.last_insert_rowid()
        else:
            id_ = int(known[0])
            db.execute(
                "UPDATE market_servers SET version = ?, skeleton = ?, package = ?, status = ?,"
                " published_at = ?, updated_at = ?, round = ?, title = ?, text = ?, entry = ?"
                " WHERE source_id = ? AND name = ?",
                values,
            )
        if known is None or known[1:] != (row.title, row.text):
            _index(db, id_, row.title, row.text)
        save_tools(db, row.package, row.tools)


def save_tools(db: apsw.Connection, package: str, tools: Iterable[MarketTool]) -> None:
    """Store tools that a package has; what is known of its others stays."""
    for tool in tools:
        known = db.execute(
            "SELECT id, text FROM market_tools WHERE package = ? AND name = ?", (package, tool.name)
        ).fetchone()
        if known is None:
            db.execute(
                "INSERT INTO market_tools (package, name, text, tokens) VALUES (?, ?, ?, ?)",
                (package, tool.name, tool.text, tool.tokens),
            )
            _index(db, -db.last_insert_rowid(), tool.name, tool.text)
        elif tool.tokens or (tool.text and known[1] != tool.text):
            db.execute(
                "UPDATE market_tools SET text = ?, tokens = max(tokens, ?) WHERE id = ?",
                (tool.text or known[1], tool.tokens, known[0]),
            )
            _index(db, -int(known[0]), tool.name, tool.text or known[1])


def _index(db: apsw.Connection, document: int, name: str, text: str) -> None:
    """Put a document's words in the index; its vector goes, as it is of the older text."""
    db.execute("DELETE FROM market_words WHERE rowid = ?", (document,))
    db.execute(
        "INSERT INTO market_words (rowid, name, text) VALUES (?, ?, ?)", (document, name, text)
    )
    db.execute("DELETE FROM market_vectors WHERE id = ?", (document,))


def drop(db: apsw.Connection, source_id: int, names: Iterable[str]) -> int:
    """Take listed servers out; the number of those that were there."""
    ids = [
        row[0] for name in names for row in db.execute(f"{_IDS_OF} AND name = ?", (source_id, name))
    ]
    _drop(db, ids)
    return len(ids)


def _drop(db: apsw.Connection, ids: Sequence[int]) -> None:
    rows = [(id_,) for id_ in ids]
    for table, column in (
        ("market_words", "rowid"), ("market_vectors", "id"), ("market_servers", "id"),
    ):  # fmt: skip
        db.executemany(f"DELETE FROM {table} WHERE {column} = ?", rows)


def drop_orphans(db: apsw.Connection) -> None:
    """Forget tools whose package no source lists any more."""
    sql = "SELECT id FROM market_tools WHERE package NOT IN (SELECT package FROM market_servers)"
    ids = [row[0] for row in db.execute(sql)]
    rows = [(-id_,) for id_ in ids]
    db.executemany("DELETE FROM market_words WHERE rowid = ?", rows)
    db.executemany("DELETE FROM market_vectors WHERE id = ?", rows)
    db.executemany("DELETE FROM market_tools WHERE id = ?", [(id_,) for id_ in ids])


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A stored server as a result needs it."""

    id: int
    source_id: int
    name: str
    version: str
    package: str
    status: str
    published_at: str
    updated_at: str
    entry: Json


_LISTED = "id, source_id, name, version, package, status, published_at, updated_at, entry"


def by_ids(db: apsw.Connection, ids: Iterable[int]) -> dict[int, ListedServer]:
    """These servers, by row id."""
    wanted = ",".join(str(int(id_)) for id_ in ids)
    sql = f"SELECT {_LISTED} FROM market_servers WHERE id IN ({wanted})"
    return {row[0]: _listed(row) for row in db.execute(sql)}


def by_name(db: apsw.Connection, name: str) -> tuple[ListedServer, ...]:
    """Servers of that name, the first source's first."""
    sql = f"SELECT {_LISTED} FROM market_servers WHERE name = ? ORDER BY source_id"
    return tuple(_listed(row) for row in db.execute(sql, (name,)))


def by_identifier(db: apsw.Connection, identifier: str) -> tuple[ListedServer, ...]:
    """Servers whose first package is called so, of whatever kind; the first source's first."""
    sql = f"SELECT {_LISTED} FROM market_servers WHERE package IN (?, ?, ?, ?) ORDER BY source_id"
    kinds = [f"{kind}:{identifier.lower()}" for kind in ("npm", "pypi", "oci", "nuget")]
    return tuple(_listed(row) for row in db.execute(sql, kinds))


def names_like(db: apsw.Connection, skeleton: str, name: str) -> tuple[str, ...]:
    """Other names that look like this one."""
    sql = "SELECT DISTINCT name FROM market_servers WHERE skeleton = ? AND name != ? LIMIT 5"
    return tuple(row[0] for row in db.execute(sql, (skeleton, name)))


def page(db: apsw.Connection, after: int, without: str, most: int) -> tuple[ListedServer, ...]:
    """The next servers by row id, but for those of the source with this URL."""
    sql = (
        f"SELECT {_LISTED} FROM market_servers WHERE id > ? AND source_id NOT IN"
        " (SELECT id FROM market_sources WHERE url = ?) ORDER BY id LIMIT ?"
    )
    return tuple(_listed(row) for row in db.execute(sql, (after, without, most)))


def newest_ids(db: apsw.Connection, most: int) -> tuple[int, ...]:
    """The servers that were updated last."""
    sql = "SELECT id FROM market_servers ORDER BY updated_at DESC, id LIMIT ?"
    return tuple(row[0] for row in db.execute(sql, (most,)))


def ids_of_packages(db: apsw.Connection, packages: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Rows of the servers with these packages, by package, the first source's first."""
    ids: dict[str, tuple[int, ...]] = {}
    sql = "SELECT id FROM market_servers WHERE package = ? ORDER BY source_id"
    for package in dict.fromkeys(packages):
        ids[package] = tuple(row[0] for row in db.execute(sql, (package,)))
    return ids


def tools_of(db: apsw.Connection, package: str) -> tuple[MarketTool, ...]:
    """Tools that the package is known to have."""
    sql = "SELECT name, text, tokens FROM market_tools WHERE package = ? ORDER BY id"
    return tuple(MarketTool(*row) for row in db.execute(sql, (package,)))


def tool_count(db: apsw.Connection, package: str) -> int:
    """Number of tools that the package is known to have."""
    sql = "SELECT count(*) FROM market_tools WHERE package = ?"
    return int(next(iter(db.execute(sql, (package,))))[0])


def tools_by_id(db: apsw.Connection, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Package and name of these tools, by row id."""
    wanted = ",".join(str(int(id_)) for id_ in ids)
    sql = f"SELECT id, package, name FROM market_tools WHERE id IN ({wanted})"
    return {row[0]: (row[1], row[2]) for row in db.execute(sql)}


def count(db: apsw.Connection) -> tuple[int, int]:
    """Numbers of listed servers and of known tools."""
    sql = "SELECT (SELECT count(*) FROM market_servers), (SELECT count(*) FROM market_tools)"
    row = next(iter(db.execute(sql)))
    return int(row[0]), int(row[1])


def _listed(row: Sequence[object]) -> ListedServer:
    *fields, packed = row
    assert isinstance(packed, bytes)
    text = zlib.decompressobj().decompress(packed, MOST_INFLATED)
    entry = json.loads(text)
    values = (*fields, entry if isinstance(entry, dict) else {})
    return ListedServer(*values)  # type: ignore[arg-type]  # as _LISTED has them


# ---- installed servers


@dataclass(frozen=True, slots=True)
class MarketInstall:
    """The listed server that an installed one came from."""

    server_id: int
    source: str  # URL
    name: str
    version: str
    number: int  # of the package or address, from 1
    at: float
    query: str = ""  # the search that found it
    entry: str = "{}"  # server.json as it was installed
    given: str = "{}"  # JSON: a person's values by key, null for secret ones


def save_install(db: apsw.Connection, install: MarketInstall) -> None:
    """Note where a server came from."""
    values = astuple(install)
    db.execute("INSERT OR REPLACE INTO market_installs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def installs(db: apsw.Connection) -> dict[int, MarketInstall]:
    """Origins of servers in a market, by server; those that are registered now."""
    sql = (
        "SELECT i.* FROM market_installs i JOIN servers s ON s.id = i.server_id"
        " WHERE s.status != 'retired'"
    )
    return {row[0]: MarketInstall(*row) for row in db.execute(sql)}


@dataclass(frozen=True, slots=True)
class MarketFormer:
    """The version that an installed server had before its update; all but the id is JSON."""

    server_id: int
    install: str
    launch: str
    trusted: str


def save_former(db: apsw.Connection, former: MarketFormer) -> None:
    """Keep the version that a server has, in the place of an earlier one."""
    db.execute("INSERT OR REPLACE INTO market_former VALUES (?, ?, ?, ?)", astuple(former))


def former(db: apsw.Connection, server_id: int) -> MarketFormer | None:
    """The version before the update of a server, None for none."""
    sql = "SELECT * FROM market_former WHERE server_id = ?"
    row = db.execute(sql, (server_id,)).fetchone()
    return MarketFormer(*row) if row else None


def drop_former(db: apsw.Connection, server_id: int) -> None:
    """Forget the version before."""
    db.execute("DELETE FROM market_former WHERE server_id = ?", (server_id,))


def installed_as(db: apsw.Connection, name: str) -> str:
    """The name of the installed server that came from this listed one, "" for none."""
    sql = (
        "SELECT s.name FROM market_installs i JOIN servers s ON s.id = i.server_id"
        " WHERE i.name = ? AND s.status != 'retired' ORDER BY s.id LIMIT 1"
    )
    row = db.execute(sql, (name,)).fetchone()
    return str(row[0]) if row else ""


# ---- the index


def word_scores(db: apsw.Connection, words: Sequence[str], most: int) -> dict[int, float]:
    """The documents that hold these words best: bm25 with the sign turned."""
    if not words:
        return {}
    match = " OR ".join(map(phrase, words))
    sql = (
        "SELECT rowid, -bm25(market_words, 2.0, 1.0) AS score FROM market_words"
        " WHERE market_words MATCH ? ORDER BY score DESC LIMIT ?"
    )
    return {row[0]: row[1] for row in db.execute(sql, (match, most))}


def ids_by_title(db: apsw.Connection, words: Sequence[str], most: int) -> list[int]:
    """The servers with all of these words in titles or names, the shortest of those first."""
    match = " AND ".join(map(phrase, words))
    sql = (
        "SELECT rowid FROM market_words WHERE market_words MATCH ? AND rowid > 0"
        " ORDER BY rank LIMIT ?"
    )
    return [row[0] for row in db.execute(sql, (f"name : ({match})", most))]


def lacking_vectors(db: apsw.Connection, model: str, most: int) -> list[tuple[int, str, str]]:
    """Documents without a vector of this model, their names and texts: servers, then tools."""
    rows = db.execute(
        "SELECT s.id, s.title, s.text FROM market_servers s LEFT JOIN market_vectors v"
        " ON v.id = s.id AND v.model = ?1 WHERE v.id IS NULL"
        " UNION ALL SELECT -t.id, t.name, t.text FROM market_tools t"
        " LEFT JOIN market_vectors v ON v.id = -t.id AND v.model = ?1 WHERE v.id IS NULL"
        " LIMIT ?2",
        (model, most),
    )
    return list(rows)


def save_vectors(db: apsw.Connection, model: str, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store (document, int8 vector); those of other models go."""
    kept = list(rows)
    db.executemany("DELETE FROM market_vectors WHERE id = ?", [(id_,) for id_, _ in kept])
    db.executemany(
        "INSERT INTO market_vectors (id, model, data) VALUES (?, ?, ?)",
        [(id_, model, data) for id_, data in kept],
    )


def vectors(db: apsw.Connection, model: str) -> Iterator[tuple[int, bytes]]:
    """Document and int8 vector, by document."""
    sql = "SELECT id, data FROM market_vectors WHERE model = ? ORDER BY id"
    return ((row[0], row[1]) for row in db.execute(sql, (model,)))


def vector_count(db: apsw.Connection, model: str) -> int:
    """Number of documents that have a vector."""
    sql = "SELECT count(*) FROM market_vectors WHERE model = ?"
    return int(next(iter(db.execute(sql, (model,))))[0])


def vector_mark(db: apsw.Connection, model: str) -> tuple[int, ...]:
    """Numbers that differ where the vectors do."""
    sql = (
        "SELECT count(*), coalesce(sum(id), 0), coalesce(max(rowid), 0) FROM market_vectors"
        " WHERE model = ?"
    )
    return tuple(map(int, next(iter(db.execute(sql, (model,))))))
