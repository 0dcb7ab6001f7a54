"""`bench retrieval --own-log N`: what the router gains by learning from N labelled queries."""

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.ranking.learning import learn
from app.ranking.router import Router
from store.records import LabelRecord
from store.typed import Json
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Judged, average, mean
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.judging import Progress, encode_queries, judge_ours, judge_paper, sample

_SEED = 50  # of the first log; the next is drawn with the next seed

Table = Json


def run(
    sets: Sequence[QuerySet],
    encoder: CachedEncoder,
    *,
    count: int,
    limit: int,
    logs: int = 1,
    encoder_ms: float,
    progress: Progress,
) -> Table:
    """Cold and learned side by side on the queries that are not the log.

    Sets with fewer than 2N queries are named as left out. `never` holds the queries none of whose
    tools is in the log. Of further logs, drawn like the first, the gains alone are kept.
    """
    used = [given for given in sets if len(given.queries) >= 2 * count]
    drawn: list[dict[str, Table]] = []
    for seed in range(_SEED, _SEED + logs):
        drawn.append({})
        for given in used:
            progress(f"{given.name}: learning from {count} of {len(given.queries)} queries")
            drawn[-1][given.name] = _one(
                given, encoder, count=count, limit=limit, seed=seed, encoder_ms=encoder_ms
            )
    gains = [_gains(tables) for tables in drawn]
    ways = ("paper", "ours", "learned")
    macro = {way: average([table[way] for table in drawn[0].values()]) for way in ways}
    return {
        "own_log": count,
        "macro": macro | gains[0],
        "logs": gains,
        "sets": drawn[0],
        "left_out": [given.name for given in sets if given not in used],
    }


def _gains(tables: Mapping[str, Table]) -> dict[str, float]:
    """Mean over the sets of what nDCG@10 gains, for all queries and for tools never logged."""
    gains = [table["learned"]["ndcg10"] - table["ours"]["ndcg10"] for table in tables.values()]
    never = [table["never_gain"] for table in tables.values() if table["never"]]
    return {
        "gain": sum(gains) / len(gains) if gains else 0.0,
        "never_gain": sum(never) / len(never) if never else 0.0,
    }


def _one(
    given: QuerySet,
    encoder: CachedEncoder,
    *,
    count: int,
    limit: int,
    seed: int,
    encoder_ms: float,
) -> Table:
    order = list(range(len(given.queries)))
    random.Random(seed).shuffle(order)
    log = [given.queries[i] for i in order[:count]]
    rest = sample([given.queries[i] for i in sorted(order[count:])], limit)
    encode_queries(given.queries, encoder)
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:

            def judged() -> list[Judged]:
                router = Router.from_store(db, catalog_of(db), None, encoder)
                return [judge_ours(router, q, encoder, encoder_ms=encoder_ms) for q in rest]

            paper = mean(judge_paper(given, rest, encoder, encoder_ms=encoder_ms))
            return {"paper": paper} | _compared(db, encoder, log, rest, judged=judged)
        finally:
            db.close()


def _compared(
    db: Any,
    encoder: CachedEncoder,
    log: Sequence[Labelled],
    rest: Sequence[Labelled],
    *,
    judged: Callable[[], list[Judged]],
) -> Table:
    cold = judged()
    labels = [LabelRecord(0, q.query, q.gold.tools, "imported") for q in log]
    report = learn.train(db, Router.from_store(db, catalog_of(db), None, encoder), labels)
    learned = judged()
    known = {tool for q in log for tool in q.gold.tools}
    never = [i for i, q in enumerate(rest) if not known.intersection(q.gold.tools)]
    before, after = ([rows[i].ndcg10 for i in never] for rows in (cold, learned))
    return {
        "queries": len(rest),
        "used": report.used,
        "seconds": report.seconds,
        "held_back": {"before": report.before, "after": report.after},
        "ours": mean(cold),
        "learned": mean(learned),
        "never": len(never),
        "never_gain": 100 * (sum(after) - sum(before)) / len(never) if never else 0.0,
    }
