"""Embeddings: plain rows are the truth, the vec0 index is disposable."""

import re
from collections.abc import Iterable

import apsw

from store.connection import load_vec0, transaction
from store.records import Hit, Vector
from store.search import Scope

# vec0 answers at most this many neighbours
MOST = 4096


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


def load_usable(db: apsw.Connection, model: str) -> dict[int, bytes]:
    """Those of usable tools that are there: one that is gone keeps its vector."""
    sql = (
        "SELECT v.tool_id, v.data FROM vectors v JOIN tools t ON t.id = v.tool_id"
        " WHERE v.model = ? AND v.view = 'summary' AND t.gone = 0 AND t.problem = ''"
    )
    return dict(db.execute(sql, (model,)))


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
    db.execute(
        "INSERT OR REPLACE INTO blobs (name, fingerprint, data, at) VALUES (?, ?, x'', 0)",
        (f"index:{name}", _fingerprint(db, model, view)),
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
