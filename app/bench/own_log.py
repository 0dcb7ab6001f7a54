"""`bench retrieval --own-log N`: what the router gains by learning from N labelled queries."""

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.bench.corpus import catalog_of, open_corpus
from app.bench.embeddings import CachedEncoder
from app.bench.judging import Progress, encode_queries, judge_ours, judge_paper, sample
from app.bench.metrics import Judged, average, mean
from app.bench.sets import Labelled, QuerySet
from app.routing import learn
from app.routing.router import Router
from store.records import LabelRecord

_SEED = 50


def run(
    sets: Sequence[QuerySet],
    encoder: CachedEncoder,
    *,
    count: int,
    limit: int,
    encoder_ms: float,
    progress: Progress,
) -> dict[str, Any]:
    """Cold and learned side by side on the queries that are not the log.

    Sets with fewer than 2N queries are named as left out. `never` holds the queries none of whose
    tools is in the log.
    """
    used = [given for given in sets if len(given.queries) >= 2 * count]
    tables = {}
    for given in used:
        progress(f"{given.name}: learning from {count} of {len(given.queries)} queries")
        tables[given.name] = _one(given, encoder, count=count, limit=limit, encoder_ms=encoder_ms)
    ways = ("paper", "ours", "learned")
    macro: dict[str, Any] = {way: average([t[way] for t in tables.values()]) for way in ways}
    gains = {name: t["learned"]["ndcg10"] - t["ours"]["ndcg10"] for name, t in tables.items()}
    never = [t["never_gain"] for t in tables.values() if t["never"]]
    macro["gain"] = sum(gains.values()) / len(gains) if gains else 0.0
    macro["never_gain"] = sum(never) / len(never) if never else 0.0
    return {
        "own_log": count,
        "macro": macro,
        "sets": tables,
        "left_out": [given.name for given in sets if given not in used],
    }


def _one(
    given: QuerySet, encoder: CachedEncoder, *, count: int, limit: int, encoder_ms: float
) -> dict[str, Any]:
    order = list(range(len(given.queries)))
    random.Random(_SEED).shuffle(order)
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
) -> dict[str, Any]:
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
