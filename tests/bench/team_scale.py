"""`bench team-scale`: search in a team's database by what the caller may see, at its real size.

Vectors are real tools' ones, perturbed: of noise HNSW says nothing. The table of sizes is a
projection from the CPU that was measured.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
import psutil
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.types.json import Json as AsJson
from psycopg_pool import ConnectionPool

from app.encoder.onnx import Encoder
from app.ranking.keyword import keyword_row
from app.ranking.summary import make_summary
from app.ranking.views import mixed, views_of
from app.team_server.ranking import Ranker
from store.connection import load_vec0
from store.records import Summary, ToolRecord
from store.team import members, organisations, search, servers
from store.team.connecting import Connection, as_member, as_owner, open_pool
from store.team.records import EDITOR, Member, NewServer
from store.team.words import Tokens
from store.typed import Json
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import read_sets
from tests.bench.team import trial_database

SHARES = {"50 %": 0.5, "5 %": 0.05, "1 %": 0.01, ".1 %": 0.001}
ORGANISATIONS = 50
K = 20
_QUERIES = 100
_SEED = 20_261_126
_SPREAD = 0.6  # length of the noise that is added to a unit vector
_OF_SERVER = 40  # tools of a server
_PER_MEMBER_DAY = 60  # searches of a member in a day of eight hours, for the projection

Matrix = NDArray[np.float32]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Base:
    """Real tools that are multiplied."""

    tools: Sequence[ToolRecord]
    words: Sequence[tuple[str, int]]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class _Filled:
    """An organisation with what was put into it."""

    member: Member
    ids: NDArray[np.int64]
    vectors: Matrix


def measure(
    data: Path,
    encoder: Encoder,
    *,
    count: int,
    cache: Path | None = None,
    progress: Progress = lambda _line: None,
) -> Json:
    """The same with an encoder whose embeddings are kept in `cache`."""
    cached = CachedEncoder(encoder, cache)
    try:
        return run(data, cached, count=count, progress=progress)
    finally:
        cached.close()


def run(
    data: Path,
    encoder: CachedEncoder,
    *,
    count: int = 100_000,
    progress: Progress = lambda _line: None,
) -> Json:
    """Recall, CPU and time of searches in organisations of each share of `count` tools."""
    base, texts = _base(data, encoder)
    sizes = _sizes(count)
    with trial_database() as dsn:
        pool = open_pool(dsn, most=1)
        try:
            rng = np.random.default_rng(_SEED)
            filled = []
            for name, size in sizes:
                with as_owner(pool) as db:
                    filled.append(_fill(db, name, size, base, rng, encoder.key))
                progress(f"{name}: {size:,} tools")
            with as_owner(pool) as db:
                started = time.perf_counter()
                for one in filled:
                    search.build_index(db, one.member.organisation_id)
                index_seconds = time.perf_counter() - started
            with pool.connection() as db:
                db.execute("ANALYZE toolcrib.tool_vectors, toolcrib.tools, toolcrib.stems")
                size_row = db.execute("SELECT pg_database_size(current_database())").fetchone()
            progress(f"indexes: {index_seconds:.0f} s")
            backend = _Backend(dsn)
            tables = {}
            for share, one in zip(SHARES, filled, strict=False):
                tables[share] = _measure(pool, one, texts, encoder, backend)
                progress(f"{share}: {tables[share]}")
            lite = _sqlite(filled, texts, encoder)
        finally:
            pool.close()
    return {
        "measured": True,
        "tools": count,
        "organisations": len(sizes),
        "index_seconds": index_seconds,
        "database_bytes": size_row[0] if size_row else 0,
        "scopes": tables,
        "sqlite_vec": lite,
        "projection": _projection(tables),
    }


def _sizes(count: int) -> list[tuple[str, int]]:
    """Organisations with their numbers of tools; the first ones have the shares."""
    shares = [(name, round(count * share)) for name, share in SHARES.items()]
    others = ORGANISATIONS - len(shares)
    rest = count - sum(size for _, size in shares)
    return [*shares, *((f"other {n}", rest // others) for n in range(others))]


def _base(data: Path, encoder: CachedEncoder) -> tuple[_Base, list[str]]:
    tokens, records, queries = Tokens(), list[ToolRecord](), list[str]()
    for given in read_sets(data):
        records += [
            ToolRecord(at, 0, tool.server, tool.name, dict(tool.raw), f"{given.name}{at}", "")
            for at, tool in enumerate(given.tools)
        ]
        queries += [labelled.query for labelled in given.queries]
    summaries = [Summary(tool.id, make_summary(tool), "made", tool.hash) for tool in records]
    views = [views_of(tool, summary) for tool, summary in zip(records, summaries, strict=True)]
    rows = mixed(encoder.encode, views)
    words = [tokens.literal(keyword_row(tool)) for tool in records]
    chosen = np.random.default_rng(_SEED).choice(len(queries), _QUERIES, replace=False)
    matrix = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), -1)
    return _Base(records, words, matrix), [queries[at] for at in chosen]


def _fill(
    db: Connection, name: str, size: int, base: _Base, rng: np.random.Generator, model: str
) -> _Filled:
    """An organisation with perturbed copies of real tools, written by COPY."""
    organisation = organisations.create(db, name).id
    member = members.add(db, organisation, "member")
    members.add(db, organisation, "editor", EDITOR)
    chosen = rng.integers(0, len(base.tools), size)
    noise = rng.standard_normal((size, base.vectors.shape[1])).astype(np.float32)
    noise *= _SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    mixed_rows = base.vectors[chosen] + noise
    vectors = (mixed_rows / np.linalg.norm(mixed_rows, axis=1, keepdims=True)).astype(np.float32)
    server_ids = [
        servers.save(db, organisation, NewServer(f"s{n}", "stdio"))
        for n in range((size + _OF_SERVER - 1) // _OF_SERVER)
    ]
    scope = servers.scope(db, organisation, ("organisation",))
    row = db.execute("SELECT coalesce(max(id), 0) FROM tools").fetchone()
    assert row is not None and isinstance(row[0], int)
    ids = np.arange(row[0] + 1, row[0] + 1 + size)
    _copy_tools(db, organisation, scope, server_ids, ids, [base.tools[i] for i in chosen],
                [base.words[i] for i in chosen])  # fmt: skip
    with db.cursor().copy(
        "COPY tool_vectors (tool_id, organisation_id, scope_id, model, hash, v)"
        " FROM STDIN WITH (FORMAT binary)"
    ) as copy:
        copy.set_types(["int8", "int8", "int8", "text", "text", "halfvec"])
        for id_, vector in zip(ids.tolist(), vectors, strict=True):
            copy.write_row((id_, organisation, scope, model, "", HalfVector(vector)))
    db.execute(
        "INSERT INTO stems SELECT t.organisation_id, t.scope_id, t.server_id, u.lexeme, count(*)"
        " FROM tools t, unnest(t.words) u WHERE t.organisation_id = %s GROUP BY 1, 2, 3, 4",
        (organisation,),
    )
    return _Filled(member, ids, vectors)


def _copy_tools(
    db: Connection,
    organisation: int,
    scope: int,
    server_ids: Sequence[int],
    ids: NDArray[np.int64],
    tools: Sequence[ToolRecord],
    words: Sequence[tuple[str, int]],
) -> None:
    with db.cursor().copy(
        "COPY tools (id, organisation_id, server_id, scope_id, tool_id, name, raw, hash,"
        " summary, tokens, words, length) FROM STDIN"
    ) as copy:
        for at, (id_, tool, (literal, length)) in enumerate(
            zip(ids.tolist(), tools, words, strict=True)
        ):
            server = at // _OF_SERVER
            row = (id_, organisation, server_ids[server], scope, f"s{server}/{at} {tool.name}")
            text = tool.description[:200]
            copy.write_row((*row, tool.name, AsJson(tool.raw), "h", text, 100, literal, length))


class _Backend:
    """CPU of all processes of the database."""

    def __init__(self, dsn: str) -> None:
        place = dsn.partition("host=")[2]
        pid = int((Path(place) / "postmaster.pid").read_text().splitlines()[0])
        self._main = psutil.Process(pid)

    def seconds(self) -> float:
        """CPU seconds until now, of those that still run."""
        total = 0.0
        for process in (self._main, *self._main.children()):
            times = process.cpu_times()
            total += times.user + times.system
        return total


def _measure(
    pool: ConnectionPool[Connection],
    one: _Filled,
    texts: Sequence[str],
    encoder: CachedEncoder,
    backend: _Backend,
) -> Json:
    queries = [encoder.encode_query(text)[0] for text in texts]
    nearest, recall = [], 0.0
    plan = ""
    spent = backend.seconds()
    for query in queries:
        started = time.perf_counter()
        with as_member(pool, one.member) as db:
            seen = search.visible(db, one.member.organisation_id)
            near = search.nearest(db, seen, encoder.key, query, k=K)
        nearest.append(time.perf_counter() - started)
        plan = "exact" if search.uses_exact(seen, search.Limits()) else "HNSW"
        cosines = one.vectors @ np.frombuffer(query, dtype="<f4")
        true = set(one.ids[np.argsort(-cosines)[:K]].tolist())
        recall += len(true & near.keys()) / len(true)
    vector_cpu = backend.seconds() - spent
    ranker, whole = Ranker(encoder), list[float]()
    spent, own = backend.seconds(), time.process_time()
    for text in texts:
        started = time.perf_counter()
        with as_member(pool, one.member) as db:
            ranker.rank(db, one.member, text, limit=20)
        whole.append(time.perf_counter() - started)
    count = len(texts)
    return {
        "tools": len(one.ids),
        "plan": plan,
        "recall_at_20": recall / count,
        "nearest_ms": _quantiles(nearest),
        "nearest_database_cpu_ms": 1000 * vector_cpu / count,
        "search_ms": _quantiles(whole),
        "search_database_cpu_ms": 1000 * (backend.seconds() - spent) / count,
        "search_replica_cpu_ms": 1000 * (time.process_time() - own) / count,
    }


def _quantiles(seconds: Sequence[float]) -> Json:
    return {
        "p50": 1000 * float(np.quantile(seconds, 0.5)),
        "p95": 1000 * float(np.quantile(seconds, 0.95)),
    }


def _sqlite(filled: Sequence[_Filled], texts: Sequence[str], encoder: CachedEncoder) -> Json:
    """The same rows of the largest organisations in sqlite-vec, each in an index of its own."""
    tables = {}
    for share, one in zip(SHARES, filled, strict=False):
        with tempfile.TemporaryDirectory() as folder:
            db = apsw.Connection(str(Path(folder) / "vec.db"))
            load_vec0(db)
            dims = one.vectors.shape[1]
            db.execute(
                "CREATE VIRTUAL TABLE v USING vec0"
                f"(id INTEGER PRIMARY KEY, v float[{dims}] distance_metric=cosine)"
            )
            with db:
                db.executemany("INSERT INTO v VALUES (?, ?)", _rows(one))
            seconds, own = list[float](), time.process_time()
            for text in texts[:30]:
                query = encoder.encode_query(text)[0]
                started = time.perf_counter()
                db.execute("SELECT id FROM v WHERE v MATCH ? AND k = ?", (query, K)).fetchall()
                seconds.append(time.perf_counter() - started)
            cpu = 1000 * (time.process_time() - own) / len(seconds)
            tables[share] = {"nearest_ms": _quantiles(seconds), "nearest_cpu_ms": cpu}
            db.close()
    return tables


def _rows(one: _Filled) -> Iterator[tuple[int, bytes]]:
    for id_, vector in zip(one.ids.tolist(), one.vectors, strict=True):
        yield id_, vector.tobytes()


def _projection(tables: Json) -> Json:
    """Searches a second that one core carries, and cores for 3,000 members: a projection."""
    peak = 3 * 3_000 * _PER_MEMBER_DAY / (8 * 3_600)  # three times the mean of a day
    return {
        share: {
            "searches_per_database_core": 1000 / max(table["search_database_cpu_ms"], 1e-6),
            "searches_per_replica_core": 1000 / max(table["search_replica_cpu_ms"], 1e-6),
            "database_cores_3000_members": peak * table["search_database_cpu_ms"] / 1000,
            "replica_cores_3000_members": peak * table["search_replica_cpu_ms"] / 1000,
        }
        for share, table in tables.items()
    }
