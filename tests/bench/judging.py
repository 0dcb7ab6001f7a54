"""One query judged under the paper's method and under ours."""

import random
import time
from collections.abc import Callable, Sequence

import numpy as np

from app.ranking.router import Router
from app.ranking.text import clauses, split_name
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Judged, judge
from tests.bench.data.sets import Labelled, QuerySet

Progress = Callable[[str], None]

PAPER_THETA = 0.28
PAPER_K = 10
DEPTH = 50  # ranks that are looked at; MRR beyond is 0
_SEED = 20260421


def sample(queries: Sequence[Labelled], limit: int) -> list[Labelled]:
    """`limit` queries, always the same ones, in their own order; 0 means all."""
    if not limit or limit >= len(queries):
        return list(queries)
    chosen = random.Random(_SEED).sample(range(len(queries)), limit)
    return [queries[i] for i in sorted(chosen)]


def encode_queries(queries: Sequence[Labelled], encoder: CachedEncoder) -> None:
    """Encode queries and their steps ahead, so that timing sees the router alone."""
    encoder.encode_queries([q.query for q in queries])
    encoder.encode([step for q in queries for step in clauses(q.query)], query=True)


def judge_ours(
    router: Router, query: Labelled, encoder: CachedEncoder, *, encoder_ms: float
) -> Judged:
    """One query through the router as the gateway asks it."""
    encoded, started = encoder.text_count, time.process_time()
    ranked = router.route(query.query, limit=DEPTH)
    spent = (time.process_time() - started) * 1000
    return judge(
        [tool.tool_id for tool in ranked.tools],
        [tool.tool_id for tool in ranked.shown],
        query.gold,
        cpu_ms=spent + (encoder.text_count - encoded) * encoder_ms,
    )


def judge_paper(
    given: QuerySet, queries: Sequence[Labelled], encoder: CachedEncoder, *, encoder_ms: float
) -> list[Judged]:
    """Cosine of query and "split name: description", theta .28, k 10 (arXiv 2604.21816, 4.5).

    Its encoder is the default one as it is published, without our delta.
    """
    encoder = encoder.base
    ids = np.array([f"{tool.server}/{tool.name}" for tool in given.tools])
    texts = [f"{split_name(t.name)}: {t.raw['description']}" for t in given.tools]
    matrix = encoder.encode(texts)
    rows = []
    for query in queries:
        vector = encoder.encode([query.query], query=True)[0]
        started = time.process_time()
        cosines = matrix @ vector
        order = np.argsort(-cosines, kind="stable")[:DEPTH]
        active = [i for i in order[:PAPER_K] if cosines[i] >= PAPER_THETA]
        spent = (time.process_time() - started) * 1000
        figures = judge(
            ids[order].tolist(), ids[active].tolist(), query.gold, cpu_ms=spent + encoder_ms
        )
        rows.append(figures)
    return rows
