"""`bench retrieval --leave-one-out`: do the fusion's constants only fit the sets that judge them?

For each set, a grid's best constants on all other sets are judged on it, beside the shipped ones.
"""

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from app.ranking.fuse import LONGQ, Lengths
from app.ranking.learning.base import BaseScores, QuerySignals
from store import tools, vectors
from store.typed import Json
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Judged, judge, mean
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.judging import Progress, encode_queries, sample

QUERIES = 300  # a set, without --limit
GRID = tuple(
    Lengths(least_words, short, long, most_steps)
    for least_words, (short, long), most_steps in itertools.product(
        (0.05, 0.15, 0.25, 0.35), ((6, 16), (8, 20), (10, 26)), (0.5, 0.7, 0.9)
    )
)
_RANKED = ("hit1", "r5", "r10", "ndcg10", "mrr")
_DEPTH = 50  # ranks that are looked at; MRR beyond is 0

Tables = Mapping[str, Mapping[Lengths, Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class _Prepared:
    names: Sequence[str]  # of the tools, by row
    queries: Sequence[tuple[QuerySignals, Labelled]]


def run(
    sets: Sequence[QuerySet], encoder: CachedEncoder, *, limit: int, progress: Progress
) -> Json:
    """Shipped constants and those that the other sets choose, on each set and over all."""
    tables: dict[str, dict[Lengths, Mapping[str, float]]] = {}
    for given in sets:
        progress(f"{given.name}: {len(GRID)} settings")
        prepared = _prepare(given, encoder, limit or QUERIES)
        tables[given.name] = {lengths: _judged(prepared, lengths) for lengths in GRID}
    blocks = {name: _block(tables, name) for name in tables}
    macro = {
        way: _macro([block[way] for block in blocks.values()]) for way in ("shipped", "left_out")
    }
    return {"leave_one_out": True, "grid": len(GRID), "macro": macro, "sets": blocks}


def _block(tables: Tables, name: str) -> Json:
    others = [other for other in tables if other != name] or [name]
    # the shipped constants come first among equals
    chosen = max(
        GRID,
        key=lambda g: (_macro([tables[other][g] for other in others])["ndcg10"], g == LONGQ),
    )
    table = tables[name]
    return {"shipped": table[LONGQ], "left_out": table[chosen], "chosen": asdict(chosen)}


def _prepare(given: QuerySet, encoder: CachedEncoder, limit: int) -> _Prepared:
    queries = sample(given.queries, limit)
    encode_queries(queries, encoder)
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:
            # by name, so that a stable sort breaks ties as the router does
            records = sorted(tools.tools(db), key=lambda tool: tool.tool_id)
            stored = vectors.load(db, encoder.key)
            keys = [tool.id for tool in records]
            matrix = np.frombuffer(b"".join(stored[key] for key in keys), dtype="<f4")
            base = BaseScores(
                db,
                encoder,
                tools=matrix.reshape(len(keys), -1),
                keys=keys,
                servers=[tool.server_id for tool in records],
            )
            least = min(lengths.short for lengths in GRID)
            signals = [(base.of(query.query, short=least), query) for query in queries]
        finally:
            db.close()
    return _Prepared([tool.tool_id for tool in records], signals)


def _judged(prepared: _Prepared, lengths: Lengths) -> dict[str, float]:
    rows = [_one(prepared.names, signals, query, lengths) for signals, query in prepared.queries]
    figures = mean(rows)
    return {name: figures[name] for name in _RANKED}


def _one(names: Sequence[str], signals: QuerySignals, query: Labelled, lengths: Lengths) -> Judged:
    scores = signals.scores(lengths)
    best = np.argpartition(-scores, min(_DEPTH, len(scores) - 1))[:_DEPTH]
    order = best[np.lexsort((best, -scores[best]))]
    return judge([names[row] for row in order], [], query.gold)


def _macro(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(table[name] for table in tables) / len(tables) for name in _RANKED}
