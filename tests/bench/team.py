"""`bench team`: a team's search in Postgres beside the local one, over the same catalogues."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from app.encoder.onnx import Encoder
from app.ranking.router import Router
from app.team_server.importing import import_store
from app.team_server.ranking import Ranker
from app.team_server.trial import start
from store.team import members, organisations
from store.team.connecting import as_member, as_owner, open_pool
from store.team.migrate import migrate
from store.team.upkeep import analyse, upkeep
from store.typed import Json
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import judge
from tests.bench.data.sets import Labelled, QuerySet, read_sets
from tests.bench.judging import DEPTH, Progress, encode_queries, sample
from tests.bench.report import Column, Report, label, table

FIRST = 10  # tools of each answer that are compared
_SETTINGS = {
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One query's first tools, locally and of the team."""

    query: Labelled
    local: tuple[str, ...]
    team: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True if the first tools are the same, in the same order."""
        return self.local[:FIRST] == self.team[:FIRST]

    @property
    def same_set(self) -> bool:
        """True if they are the same in whatever order."""
        return set(self.local[:FIRST]) == set(self.team[:FIRST])


def parity(
    data: Path,
    encoder: Encoder,
    *,
    limit: int = 0,
    cache: Path | None = None,
    progress: Progress = lambda _line: None,
) -> Json:
    """Shares of queries with the same first ten, and nDCG@10 of both, by set (all measured)."""
    cached = CachedEncoder(encoder, cache)
    tables: dict[str, Json] = {}
    try:
        with trial_database() as dsn:
            for given in read_sets(data):
                pairs = compare(given, cached, dsn, limit=limit)
                tables[given.name] = _table(given, pairs)
                progress(f"{given.name}: {tables[given.name]}")
    finally:
        cached.close()
    every = list(tables.values())
    count = sum(table["queries"] for table in every)
    return {
        "measured": True,
        "same": sum(t["same"] * t["queries"] for t in every) / count,
        "same_set": sum(t["same_set"] * t["queries"] for t in every) / count,
        "most_ndcg_change": max(abs(t["ndcg_team"] - t["ndcg_local"]) for t in every),
        "sets": tables,
    }


def compare(given: QuerySet, encoder: CachedEncoder, dsn: str, *, limit: int) -> list[Pair]:
    """Every query of a set through both searches, over the same catalogue."""
    queries = sample(given.queries, limit)
    encode_queries(queries, encoder)
    pool = open_pool(dsn, most=1)
    ranker = Ranker(encoder)
    try:
        with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
            db = open_corpus(Path(folder) / "bench.db", given, encoder)
            try:
                with as_owner(pool) as connection:
                    organisation = organisations.create(connection, given.name)
                    editor = members.add(connection, organisation.id, "editor", "editor")
                    member = members.add(connection, organisation.id, "member")
                    import_store(db, connection, editor, encoder=encoder)
                with upkeep(dsn) as connection:
                    analyse(connection)
                router = Router.from_store(db, catalog_of(db), None, encoder)
                pairs = []
                for query in queries:
                    local = [t.tool_id for t in router.route(query.query, limit=DEPTH).tools]
                    with as_member(pool, member) as connection:
                        ranked = ranker.rank(connection, member, query.query, limit=DEPTH)
                    team = [t.tool_id for t in ranked.tools]
                    pairs.append(Pair(query, tuple(local), tuple(team)))
                return pairs
            finally:
                db.close()
    finally:
        pool.close()


def report(value: Json) -> Report:
    """Parity as tables."""
    columns = (
        label("set"), *map(Column, ("tools", "queries", "same first ten, %", "same set, %")),
        *map(Column, ("nDCG@10 local", "nDCG@10 team")),
    )  # fmt: skip
    keys = ("tools", "queries", "same", "same_set", "ndcg_local", "ndcg_team")
    rows = [(name, *(one[key] for key in keys)) for name, one in value["sets"].items()]
    return Report(
        "team",
        (table("A team's search in Postgres beside the local one", columns, rows),),
        (
            f"Of all queries {value['same']:.2f} % have the same first ten in the same order,"
            f" {value['same_set']:.2f} % the same ten tools; nDCG@10 differs by"
            f" {value['most_ndcg_change']:.2f} at most. Vectors are float16 in Postgres, float32"
            " locally: cosines that differ by less change places.",
        ),
    )


@contextmanager
def trial_database(keep: Path | None = None) -> Iterator[str]:
    """A cluster of its own with the newest schema; gone afterwards, unless its folder is given."""
    with tempfile.TemporaryDirectory(prefix="tcpg") as folder:
        trial = start((keep or Path(folder)) / "pg")
        try:
            migrate(trial.dsn())
            with psycopg.connect(trial.dsn(), autocommit=True) as db:
                # work of other processes could not be told from a search's own
                for name, value in _SETTINGS.items():
                    db.execute(
                        sql.SQL("ALTER SYSTEM SET {} = {}").format(
                            sql.Identifier(name), sql.Literal(value)
                        )
                    )
                db.execute("SELECT pg_reload_conf()")
            yield trial.dsn()
        finally:
            trial.stop()


def _table(given: QuerySet, pairs: Sequence[Pair]) -> Json:
    def ndcg(way: str) -> float:
        values = [
            judge(list(getattr(p, way)), list(getattr(p, way)), p.query.gold, cpu_ms=0.0).ndcg10
            for p in pairs
        ]
        return 100 * sum(values) / len(values)

    return {
        "tools": len(given.tools),
        "queries": len(pairs),
        "same": 100 * sum(p.same for p in pairs) / len(pairs),
        "same_set": 100 * sum(p.same_set for p in pairs) / len(pairs),
        "ndcg_local": ndcg("local"),
        "ndcg_team": ndcg("team"),
    }
