"""Embeddings: plain rows are the truth, the vec0 index is disposable."""

import re
from collections.abc import Iterable

import apsw

from store.connection import load_vec0, transaction
from store.records import Hit, Vector
from store.search import Scope

# vec0 answers at most this many neighbours
MOST = 4096
REQUESTS = "requests"  # the view of the index over request vectors


def save(db: apsw.Connection, rows: Iterable[Vector]) -> None:
    """Store vectors, replacing older ones of the same tool, model and view."""
    db.executemany(
        "INSERT OR REPLACE INTO vectors (tool_id, model, view, hash, data) VALUES (?, ?, ?, ?, ?)",
        [(v.tool_id, v.model, v.view, v.hash, v.data) for v in rows],
    )


def load(db: apsw.Connection, model: str, view: str = "summary") -> dict[int, bytes]:
    """Every vector of one model and view, by tool."""
    sql = "SELECT tool_id, data FROM vectors WHERE model = ? AND view = ?"
    return dict(db.execute(sql, (model, view)))


def newest_model(db: apsw.Connection) -> str:
    """The model that most tools have a vector of, "" for none."""
    sql = (
        "SELECT model FROM vectors WHERE view = 'summary' GROUP BY model"
        " ORDER BY count(*) DESC, model LIMIT 1"
    )
    row = db.execute(sql).fetchone()
    return str(row[0]) if row else ""


def load_usable(db: apsw.Connection, model: str, view: str = "summary") -> dict[int, bytes]:
    """Those of usable tools that are there: one that is gone keeps its vector."""
    sql = (
        "SELECT v.tool_id, v.data FROM vectors v JOIN tools t ON t.id = v.tool_id"
        " WHERE v.model = ? AND v.view = ? AND t.gone = 0 AND t.problem = ''"
    )
    return dict(db.execute(sql, (model, view)))


def hashes(db: apsw.Connection, model: str, view: str = "summary") -> dict[int, str]:
    """The hash of the text behind each vector, by tool."""
    sql = "SELECT tool_id, hash FROM vectors WHERE model = ? AND view = ?"
    return dict(db.execute(sql, (model, view)))


def index_name(model: str, view: str, dims: int) -> str:
    """The vec0 table of a model, a view and a dimension; a change of any makes a new table."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need before its encoder

    slug = re.sub(r"\W+", "_", model)[:40]
    digest = hashlib.sha256(f"{model}\0{view}\0{dims}".encode()).hexdigest()[:8]
    return f"vec_{slug}_{digest}"


def ensure_index(db: apsw.Connection, model: str, dims: int, view: str = "summary") -> str:
    """Make the vec0 table agree with the plain rows; its name. Opens its own transaction."""
    load_vec0(db)
    name = index_name(model, view, dims)
    if _fingerprint(db, model, view) != _indexed(db, name):
        with transaction(db):
            _rebuild(db, name, model, view, dims)
    return name


def _rebuild(db: apsw.Connection, name: str, model: str, view: str, dims: int) -> None:
    db.execute(f'DROP TABLE IF EXISTS "{name}"')
    db.execute(
        f'CREATE VIRTUAL TABLE "{name}" USING vec0('
        f"tool_id INTEGER PRIMARY KEY, vector float[{int(dims)}] distance_metric=cosine)"
    )
    db.execute(
        f'INSERT INTO "{name}" (tool_id, vector) SELECT tool_id, data FROM vectors'
        " WHERE model = ? AND view = ? AND length(data) = ?",
        (model, view, dims * 4),
    )
    _mark(db, name, _fingerprint(db, model, view))


def _mark(db: apsw.Connection, name: str, fingerprint: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO blobs (name, fingerprint, data, at) VALUES (?, ?, x'', 0)",
        (f"index:{name}", fingerprint),
    )


def _fingerprint(db: apsw.Connection, model: str, view: str) -> str:
    import hashlib

    sql = "SELECT tool_id, hash FROM vectors WHERE model = ? AND view = ? ORDER BY tool_id"
    digest = hashlib.sha256()
    for tool_id, hash_ in db.execute(sql, (model, view)):
        digest.update(f"{tool_id}:{hash_};".encode())
    return digest.hexdigest()


def _indexed(db: apsw.Connection, name: str) -> str:
    row = db.execute(
        "SELECT fingerprint FROM blobs WHERE name = ? AND EXISTS"
        " (SELECT 1 FROM sqlite_master WHERE name = ?)",
        (f"index:{name}", name),
    ).fetchone()
    return str(row[0]) if row else ""


def nearest(
    db: apsw.Connection,
    index: str,
    query: bytes,
    *,
    k: int,
    scope: Scope | None = None,
) -> list[Hit]:
    """The k tools nearest to `query` (float32 bytes) by cosine, best first.

    `index` is a name that ensure_index() gave on this connection; the scope filters inside the
    search, so k tools come back whenever k are allowed.
    """
    within = f" AND tool_id IN ({scope.condition()})" if scope else ""
    sql = (
        f'SELECT tool_id, 1.0 - distance FROM "{index}"'
        f" WHERE vector MATCH ? AND k = ?{within} ORDER BY distance"
    )
    hits = [Hit(row[0], row[1]) for row in db.execute(sql, (query, min(k, MOST)))]
    return sorted(hits, key=lambda hit: (-hit.score, hit.tool_id))


def cosines(
    db: apsw.Connection, model: str, query: bytes, *, view: str, tool_ids: Iterable[int]
) -> list[Hit]:
    """The cosine of these tools with `query`, in no order; tools without a vector are missing.

    Needs ensure_index() on this connection first, which loads sqlite-vec.
    """
    sql = (
        "SELECT tool_id, 1.0 - vec_distance_cosine(data, ?1) FROM vectors"
        " WHERE model = ?2 AND view = ?3 AND length(data) = length(?1)"
        f" AND tool_id IN ({','.join(str(int(i)) for i in tool_ids)})"
    )
    return [Hit(row[0], row[1]) for row in db.execute(sql, (query, model, view))]


def ensure_request_index(db: apsw.Connection, model: str, dims: int) -> str:
    """The vec0 table of live requests' vectors, "" when there are none; see ensure_index()."""
    ids: str = db.execute(
        "SELECT COALESCE(group_concat(id), '') FROM (SELECT r.id FROM requests r"
        " JOIN request_vectors v ON v.request_id = r.id WHERE r.live = 1 AND v.model = ?"
        " ORDER BY r.id)",
        (model,),
    ).get
    if not ids:
        return ""
    import hashlib

    load_vec0(db)
    name = index_name(model, REQUESTS, dims)
    fingerprint = hashlib.sha256(ids.encode()).hexdigest()
    if fingerprint != _indexed(db, name):
        with transaction(db):
            _rebuild_requests(db, name, model, dims, fingerprint)
    return name


def _rebuild_requests(
    db: apsw.Connection, name: str, model: str, dims: int, fingerprint: str
) -> None:
    db.execute(f'DROP TABLE IF EXISTS "{name}"')
    db.execute(
        f'CREATE VIRTUAL TABLE "{name}" USING vec0(request_id INTEGER PRIMARY KEY,'
        f" vector float[{int(dims)}] distance_metric=cosine, +tool_id INTEGER)"
    )
    db.execute(
        f'INSERT INTO "{name}" (request_id, vector, tool_id) SELECT r.id, v.data, r.tool_id'
        " FROM requests r JOIN request_vectors v ON v.request_id = r.id"
        " WHERE r.live = 1 AND v.model = ? AND length(v.data) = ?",
        (model, dims * 4),
    )
    _mark(db, name, fingerprint)


def nearest_by_request(
    db: apsw.Connection, index: str, query: bytes, *, k: int, scope: Scope | None = None
) -> set[int]:
    """The tools of the k requests nearest to `query`; `index` is of ensure_request_index()."""
    within = ""
    if scope:
        within = (
            " AND request_id IN (SELECT id FROM requests WHERE live = 1"
            f" AND tool_id IN ({scope.condition()}))"
        )
    sql = f'SELECT tool_id FROM "{index}" WHERE vector MATCH ? AND k = ?{within}'
    return {row[0] for row in db.execute(sql, (query, min(k, MOST)))}


def request_cosines(
    db: apsw.Connection, model: str, query: bytes, *, tool_ids: Iterable[int]
) -> dict[int, float]:
    """The best cosine of `query` with a live request of each of these tools that has any."""
    sql = (
        "SELECT r.tool_id, 1.0 - MIN(vec_distance_cosine(v.data, ?1)) FROM requests r"
        " JOIN request_vectors v ON v.request_id = r.id AND v.model = ?2"
        " WHERE r.live = 1 AND length(v.data) = length(?1)"
        f" AND r.tool_id IN ({','.join(str(int(i)) for i in tool_ids)}) GROUP BY r.tool_id"
    )
    return dict(db.execute(sql, (query, model)))
