"""`bench retrieval`: the paper's method, a host's own search and ours on public labelled sets."""

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.encoder.onnx import Encoder
from app.ranking.router import Router
from store.typed import Json
from tests.bench import host_search, leave_one_out, own_log
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import average, mean
from tests.bench.data.sets import QuerySet, read_sets
from tests.bench.judging import Progress, encode_queries, judge_ours, judge_paper, sample

WAYS = ("paper", *host_search.WAYS, "ours")
_TIMED = 40  # queries encoded anew to time the encoder
_SEED = 20260421


@dataclass(frozen=True, slots=True)
class Options:
    """What `bench retrieval` was asked for."""

    limit: int = 0  # queries a set; 0: all
    own_log: int = 0  # labelled queries learned from; 0: cold
    logs: int = 1  # how many such logs are drawn
    leave_one_out: bool = False  # choose the fusion's constants on the other sets
    cache: Path | None = None  # folder that keeps embeddings


def run(
    data: Path,
    encoder: Encoder,
    options: Options | None = None,
    *,
    progress: Progress = lambda _line: None,
) -> Json:
    """The report of every set below `data`, as JSON-ready tables (all figures measured).

    With `own_log`, "ours" is the cold router on the queries that are not the log, and "learned"
    the same after learning from it.
    """
    options = options or Options()
    sets = read_sets(data)
    cached = CachedEncoder(encoder, options.cache)
    try:
        milliseconds = _encoder_ms(encoder, sets)
        report: Json = {
            "measured": True,
            "model": encoder.key,
            "encoder_ms": milliseconds,
        }
        if options.leave_one_out:
            return report | leave_one_out.run(sets, cached, limit=options.limit, progress=progress)
        if options.own_log:
            return report | own_log.run(
                sets,
                cached,
                count=options.own_log,
                limit=options.limit,
                logs=options.logs,
                encoder_ms=milliseconds,
                progress=progress,
            )
        tables = {}
        for given in sets:
            progress(f"{given.name}: {len(given.tools)} tools, {len(given.queries)} queries")
            tables[given.name] = compare(
                given, cached, limit=options.limit, encoder_ms=milliseconds
            )
    finally:
        cached.close()
    macro = {way: average([table[way] for table in tables.values()]) for way in WAYS}
    return report | {"macro": macro, "sets": tables}


def compare(given: QuerySet, encoder: CachedEncoder, *, limit: int, encoder_ms: float) -> Json:
    """All methods on one set."""
    queries = sample(given.queries, limit)
    encode_queries(queries, encoder)
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:
            router = Router.from_store(db, catalog_of(db), None, encoder)
            ours = [judge_ours(router, q, encoder, encoder_ms=encoder_ms) for q in queries]
        finally:
            db.close()
    host = host_search.HostSearch(given)
    return {
        "tools": len(given.tools),
        "queries": len(queries),
        "paper": mean(judge_paper(given, queries, encoder, encoder_ms=encoder_ms)),
        **{way: mean(host.judge(queries, way)) for way in host_search.WAYS},
        "ours": mean(ours),
    }


def _encoder_ms(encoder: Encoder, sets: Sequence[QuerySet]) -> float:
    """Mean CPU milliseconds of the encoder for one query, over queries of all sets."""
    every = [q.query for given in sets for q in given.queries]
    chosen = random.Random(_SEED).sample(every, min(_TIMED, len(every)))
    encoder.encode_query("warm up")
    started = time.process_time()
    for query in chosen:
        encoder.encode_query(query)
    return (time.process_time() - started) * 1000 / max(1, len(chosen))
