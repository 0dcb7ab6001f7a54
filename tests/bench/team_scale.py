"""`bench team --scale N`: search in a team's database by what the caller may see, at real size.

Organisations of four sizes, and in the largest one members who see four shares of it. Vectors are
real tools' ones, perturbed: of noise HNSW says nothing. The sizing table is a projection.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
import psutil
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql
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
from store.team.records import EDITOR, Member
from store.team.upkeep import analyse, build_indexes, upkeep
from store.team.words import Tokens
from store.typed import Json
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import read_sets
from tests.bench.team import trial_database
from tests.bench.team_sizing import projection

SHARES = {"50 %": 0.5, "5 %": 0.05, "1 %": 0.01, ".1 %": 0.001}
ORGANISATIONS = 50
K = 20
_QUERIES = 100
_SEED = 20_261_126
_SPREAD = 0.6  # length of the noise that is added to a unit vector
_OF_SERVER = 40  # tools of a server
_WORDS = ("stems", "vocabulary")

Matrix = NDArray[np.float32]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Base:
    """Real tools that are multiplied."""

    tools: Sequence[ToolRecord]
    words: Sequence[tuple[str, int]]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class _Caller:
    """A member with the tools that he sees."""

    member: Member
    ids: NDArray[np.int64]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class _Plan:
    """An organisation before it is written: which real tools it multiplies, and who sees which."""

    name: str
    chosen: NDArray[np.int64]
    vectors: Matrix
    parts: Mapping[str, range]  # servers by the group that sees them


def measure(
    data: Path,
    encoder: Encoder,
    *,
    count: int,
    cache: Path | None = None,
    keep: Path | None = None,
    progress: Progress = lambda _line: None,
) -> Json:
    """Recall, CPU and time of searches among `count` tools, by what a caller sees.

    Embeddings are kept in `cache`; the database in `keep`, which is filled once.
    """
    cached = CachedEncoder(encoder, cache)
    try:
        base, texts = _base(data, cached)
        with trial_database(keep) as dsn:
            pool = open_pool(dsn, most=1)
            try:
                return _Bench(dsn, pool, cached, base, texts, progress).run(count)
            finally:
                pool.close()
    finally:
        cached.close()


class _Bench:
    """One run over one database."""

    def __init__(
        self,
        dsn: str,
        pool: ConnectionPool[Connection],
        encoder: CachedEncoder,
        base: _Base,
        texts: Sequence[str],
        progress: Progress,
    ) -> None:
        self._dsn = dsn
        self._pool = pool
        self._encoder = encoder
        self._base = base
        self._texts = texts
        self._progress = progress
        self._backend = _Backend(dsn)

    def run(self, count: int) -> Json:
        """Fill, index and measure."""
        callers = self._filled(count)
        filled = self._note("fill", None)
        built = self._indexed()
        tables = {name: self._of(name, caller) for name, caller in callers.items()}
        sizes = self._sizes()
        result: Json = {
            "measured": True,
            "tools": count,
            "organisations": ORGANISATIONS,
            "fill_seconds": filled,
            "index_seconds": built,
            "bytes": sizes,
            "scopes": tables,
        }
        return {**result, "projection": projection(result)}

    def _filled(self, count: int) -> dict[str, _Caller]:
        """The callers that are measured, by what they see; writes what the database lacks."""
        callers: dict[str, _Caller] = {}
        started, written = time.perf_counter(), 0
        with as_owner(self._pool) as db, _unhindered(db):
            for at, (name, size) in enumerate(_sizes(count)):
                plan = _plan(name, size, at, self._base)
                if organisations.find(db, name) is None:
                    _fill(db, plan, self._base, self._encoder.key)
                    written += size
                    seconds = time.perf_counter() - started
                    self._progress(f"{name}: {size:,} tools, {written:,} rows in {seconds:.0f} s")
                if name in SHARES:
                    callers |= _callers(db, plan)
        if written:
            self._note("fill", time.perf_counter() - started)
        return callers

    def _indexed(self) -> Json:
        """Statistics and indexes; seconds of each, kept with the database."""
        with upkeep(self._dsn, memory="2GB") as db:
            analyse(db)
            for row in db.execute("SELECT id, name FROM toolcrib.organisations ORDER BY id"):
                id_, name = int(str(row[0])), str(row[1])
                if name not in SHARES:
                    continue
                started = time.perf_counter()
                built: list[str] = []
                build_indexes(db, id_, progress=built.append)
                if built:
                    self._note(f"index {name}", time.perf_counter() - started)
                    self._progress(f"{name}: {built} {time.perf_counter() - started:.0f} s")
        return {name: self._note(f"index {name}") for name in SHARES}

    def _note(self, name: str, value: float | None = None) -> float:
        """A figure of the filling that is kept with the database (0 for none)."""
        with self._pool.connection() as db:
            db.execute("CREATE TABLE IF NOT EXISTS bench_notes (name text PRIMARY KEY, v float8)")
            if value is not None:
                db.execute("INSERT INTO bench_notes VALUES (%s, %s)", (name, value))
            row = db.execute("SELECT v FROM bench_notes WHERE name = %s", (name,)).fetchone()
        return float(str(row[0])) if row else 0.0

    def _sizes(self) -> Json:
        tables = ("tools", "tool_vectors", "stems", "vocabulary", "changes")
        with self._pool.connection() as db:
            of_table = {
                name: db.execute(
                    "SELECT pg_total_relation_size(%s::regclass)", (f"toolcrib.{name}",)
                ).fetchone()
                for name in tables
            }
            near = db.execute(
                "SELECT coalesce(sum(pg_relation_size(indexrelid)), 0)::bigint"
                " FROM pg_stat_user_indexes WHERE indexrelname LIKE %s",
                ("tool_vectors_near_%",),
            ).fetchone()
            whole = db.execute("SELECT pg_database_size(current_database())").fetchone()
        numbers = {name: row[0] if row else 0 for name, row in of_table.items()}
        return {**numbers, "near": near[0] if near else 0, "database": whole[0] if whole else 0}

    def _of(self, name: str, caller: _Caller) -> Json:
        """Everything that is measured of one caller."""
        table = _measure(self._pool, caller, self._texts, self._encoder, self._backend)
        table["sqlite_vec"] = _sqlite(caller, self._texts, self._encoder)
        self._progress(f"{name}: {table}")
        return table


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


def _plan(name: str, size: int, at: int, base: _Base) -> _Plan:
    """The same organisation in each run: perturbed copies of real tools."""
    rng = np.random.default_rng((_SEED, at))
    chosen = rng.integers(0, len(base.tools), size)
    if name not in SHARES:  # a size of table alone, which no query is compared with
        return _Plan(name, chosen, _perturbed(base.vectors[chosen], rng), {})
    count = _servers(size)
    parts: dict[str, range] = {}
    start = 0
    for part, share in SHARES.items() if at == 0 else ():
        number = max(1, round(count * share))
        parts[part] = range(start, start + number)
        start += number
    return _Plan(name, chosen, _perturbed(base.vectors[chosen], rng), parts)


def _perturbed(rows: Matrix, rng: np.random.Generator) -> Matrix:
    noise = rng.standard_normal(rows.shape, dtype=np.float32)
    noise *= _SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    noise += rows
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return noise


def _servers(size: int) -> int:
    return (size + _OF_SERVER - 1) // _OF_SERVER


@contextmanager
def _unhindered(db: Connection) -> Iterator[None]:
    """Fill without the keys and indexes of the largest tables, which are made again afterwards."""
    if db.execute("SELECT FROM organisations").fetchone() is not None:  # filled
        yield
        return
    keys = db.execute(
        "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE conrelid = ANY(%(all)s::regclass[]) AND contype = 'f'"
        " OR conrelid = ANY(%(words)s::regclass[]) AND contype = 'p'",
        {"all": [*_WORDS, "tools", "tool_vectors"], "words": list(_WORDS)},
    ).fetchall()
    indexes = db.execute(
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i"
        " WHERE i.indrelid = ANY(%s::regclass[]) AND NOT i.indisunique",
        ([*_WORDS, "tools", "tool_vectors"],),
    ).fetchall()
    for table, name, _ in keys:
        db.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}".encode())
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}".encode())
    yield
    db.execute("SET LOCAL maintenance_work_mem = '1GB'")
    for _, definition in indexes:
        db.execute(str(definition).encode())
    for table, name, definition in keys:
        db.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}".encode())


def _fill(db: Connection, plan: _Plan, base: _Base, model: str) -> None:
    """Write an organisation by COPY; its editor sees all, a member of each group a part."""
    organisation = organisations.create(db, plan.name).id
    members.add(db, organisation, "all", EDITOR)
    grants = {}
    for part, of_part in plan.parts.items():
        members.add(db, organisation, part, groups=[part])
        grants.update(dict.fromkeys(of_part, (f"group:{part}",)))
    rest = ("group:rest",) if plan.parts else ("organisation",)
    scopes = {given: servers.scope(db, organisation, given) for given in {*grants.values(), rest}}
    size = len(plan.chosen)
    places = [grants.get(n, rest) for n in range(_servers(size))]
    server_ids = _copy_servers(db, organisation, [scopes[given] for given in places])
    of_tool = [scopes[places[at // _OF_SERVER]] for at in range(size)]
    row = db.execute("SELECT coalesce(max(id), 0) FROM tools").fetchone()
    assert row is not None and isinstance(row[0], int)
    ids = np.arange(row[0] + 1, row[0] + 1 + size)
    _copy_tools(db, organisation, of_tool, server_ids, ids, plan, base)
    with db.cursor().copy(
        "COPY tool_vectors (tool_id, organisation_id, scope_id, model, hash, v)"
        " FROM STDIN WITH (FORMAT binary)"
    ) as copy:
        copy.set_types(["int8", "int8", "int8", "text", "text", "halfvec"])
        halves = map(HalfVector, plan.vectors)
        for id_, scope, vector in zip(ids.tolist(), of_tool, halves, strict=True):
            copy.write_row((id_, organisation, scope, model, "", vector))
    db.execute(
        "INSERT INTO stems SELECT t.organisation_id, t.scope_id, t.server_id, u.lexeme, count(*)"
        " FROM tools t, unnest(t.words) u WHERE t.organisation_id = %s GROUP BY 1, 2, 3, 4",
        (organisation,),
    )
    db.execute(  # stems for words: as many rows, of the same first letters
        "INSERT INTO vocabulary SELECT organisation_id, scope_id, server_id, stem, tools FROM stems"
        " WHERE organisation_id = %s",
        (organisation,),
    )


def _copy_servers(db: Connection, organisation: int, scopes: Sequence[int]) -> list[int]:
    rows = db.execute(
        "INSERT INTO servers (organisation_id, scope_id, name, transport)"
        " SELECT %s, u.scope, 's' || u.n - 1, 'stdio'"
        " FROM unnest(%s::bigint[]) WITH ORDINALITY u(scope, n) ORDER BY u.n RETURNING id",
        (organisation, list(scopes)),
    )
    return sorted(int(str(row[0])) for row in rows)


def _copy_tools(
    db: Connection,
    organisation: int,
    scopes: Sequence[int],
    server_ids: Sequence[int],
    ids: NDArray[np.int64],
    plan: _Plan,
    base: _Base,
) -> None:
    raws = [json.dumps(tool.raw) for tool in base.tools]
    with db.cursor().copy(
        "COPY tools (id, organisation_id, server_id, scope_id, tool_id, name, raw, hash,"
        " summary, tokens, words, length) FROM STDIN"
    ) as copy:
        for at, (id_, chosen) in enumerate(zip(ids.tolist(), plan.chosen.tolist(), strict=True)):
            server, tool, (literal, length) = (
                at // _OF_SERVER,
                base.tools[chosen],
                base.words[chosen],
            )
            row = (id_, organisation, server_ids[server], scopes[at], f"s{server}/{at} {tool.name}")
            text = tool.description[:200]
            copy.write_row((*row, tool.name, raws[chosen], "h", text, 100, literal, length))


def _callers(db: Connection, plan: _Plan) -> dict[str, _Caller]:
    """Who is measured of an organisation: who sees all, and who sees a part."""
    known = organisations.find(db, plan.name)
    assert known is not None
    row = db.execute("SELECT min(id) FROM tools WHERE organisation_id = %s", (known.id,)).fetchone()
    first = int(str(row[0])) if row else 0
    size = len(plan.chosen)
    ranges = {"all": range(size)}
    for part, of_part in plan.parts.items():
        stop = min(size, of_part.stop * _OF_SERVER)
        ranges[part] = range(of_part.start * _OF_SERVER, stop)
    callers = {}
    for name, rows in ranges.items():
        member = members.named(db, known.id, name)
        assert member is not None
        named = plan.name if name == "all" else f"{name} of the {plan.name}"
        ids = np.arange(first + rows.start, first + rows.stop)
        callers[named] = _Caller(member, ids, plan.vectors[rows.start : rows.stop])
    return callers


class _Backend:
    """CPU of all processes of the database."""

    def __init__(self, dsn: str) -> None:
        place = dsn.partition("host=")[2]
        pid = int((Path(place) / "postmaster.pid").read_text().splitlines()[0])
        self._main = psutil.Process(pid)

    def seconds(self) -> float:
        """CPU seconds until now, of those that run and of those that ended."""
        ended = self._main.cpu_times()
        total = float(ended.children_user + ended.children_system)
        for process in (self._main, *self._main.children()):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total


def _measure(
    pool: ConnectionPool[Connection],
    one: _Caller,
    texts: Sequence[str],
    encoder: CachedEncoder,
    backend: _Backend,
) -> Json:
    queries = [encoder.encode_query(text)[0] for text in texts]
    nearest, recall = list[float](), 0.0
    plan = _explained(pool, one, queries[0], encoder.key)
    spent = backend.seconds()
    for query in queries:
        started = time.perf_counter()
        with as_member(pool, one.member) as db:
            seen = search.visible(db, one.member.organisation_id)
            near = search.nearest(db, seen, encoder.key, query, k=K)
        nearest.append(time.perf_counter() - started)
        cosines = one.vectors @ np.frombuffer(query, dtype="<f4")
        true = set(one.ids[np.argpartition(-cosines, K - 1)[:K]].tolist())
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


def _explained(pool: ConnectionPool[Connection], one: _Caller, query: bytes, model: str) -> str:
    """The plan that was chosen, which Postgres's own must be."""
    organisation = one.member.organisation_id
    with as_member(pool, one.member) as db:
        counted = search.visible(db, organisation).vectors
        exact = search.uses_exact(counted)
        wanted = search.Nearest(search.TOOLS, organisation, model, query, K)
        statement, values = wanted.statement(parts=0 if exact else counted.parts)
        with nullcontext() if exact else search.index_scan(db, counted):
            rows = db.execute(sql.SQL("EXPLAIN ") + statement, values).fetchall()
    plan = "\n".join(str(row[0]) for row in rows)
    used = f"{search.TOOLS}_near_{organisation}_" in plan
    if used is exact or counted.seen != len(one.ids):
        raise RuntimeError(f"{counted}: {plan}")
    return "exact" if exact else "HNSW"


def _quantiles(seconds: Sequence[float]) -> Json:
    return {
        "p50": 1000 * float(np.quantile(seconds, 0.5)),
        "p95": 1000 * float(np.quantile(seconds, 0.95)),
    }


def _sqlite(one: _Caller, texts: Sequence[str], encoder: CachedEncoder) -> Json:
    """The same rows in sqlite-vec, in an index of their own."""
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
        db.close()
    return {"nearest_ms": _quantiles(seconds), "nearest_cpu_ms": cpu}


def _rows(one: _Caller) -> Iterator[tuple[int, bytes]]:
    for id_, vector in zip(one.ids.tolist(), one.vectors, strict=True):
        yield id_, vector.tobytes()
