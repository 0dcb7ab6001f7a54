"""`bench haystack`: MCP-Zero's needle test, from 1 tool to all of a set, the position swept."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from app.catalog.catalog import load_catalog
from app.encoder.onnx import Encoder
from app.ranking.router import Router
from app.tokens.counters import counter
from app.tokens.host_text import host_text
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import Labelled, QuerySet, SetTool
from tests.bench.data.testbed import tool_id
from tests.bench.report import Cell, Column, Report, label, table
from tests.bench.searching import gateway_over

ENCODING = "o200k_base"
SIZES = (1, 10, 30, 100, 300, 1_000, 3_000)
POSITIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
NEEDLES = 40
_SEED = 42


def run(
    given: QuerySet,
    encoder: Encoder,
    *,
    hay: Sequence[SetTool] = (),
    needles: int = NEEDLES,
    cache: Path | None = None,
) -> Report:
    """Hit rates of needles among growing numbers of other tools, and what finding them costs.

    `hay` are further tools that no query of the set is about.
    """
    given = replace(given, tools=(*given.tools, *hay))
    cached = CachedEncoder(encoder, cache)
    rng = random.Random(_SEED)
    single = [q for q in given.queries if len(q.gold.tools) == 1]
    chosen = rng.sample(single, min(needles, len(single)))
    total = len(given.tools)
    try:
        rows = [
            _size(given, chosen, size, encoder=cached, models=encoder.files.onnx.parents[1])
            for size in [s for s in SIZES if s < total] + [total]
        ]
        swept = [_position(given, chosen, place, cached) for place in POSITIONS]
    finally:
        cached.close()
    by_size = table(
        f"{len(chosen)} needles of {given.name}, in the middle of the catalogue",
        [
            label("tools"), Column("first %"), Column("first 5 %"), Column("all schemas, tokens"),
            Column("search, tokens"), Column("less %"),
        ],
        rows,
    )  # fmt: skip
    by_place = table(
        f"The same needles among all {total:,} tools, by position",
        [label("position"), Column("first %"), Column("first 5 %")],
        swept,
    )
    return Report("haystack", (by_size, by_place), _notes())


def haystack(given: QuerySet, needles: Sequence[Labelled], size: int, place: float) -> QuerySet:
    """`size` tools with those of the needles together at a place, 0 first to 1 last."""
    kept = list(needles)[: max(1, size // 2)]
    wanted = {name for query in kept for name in (*query.gold.tools, *query.gold.same)}
    gold = {name for query in kept for name in query.gold.tools}
    pins = [tool for tool in given.tools if tool_id(tool) in gold]
    others = [tool for tool in given.tools if tool_id(tool) not in wanted]
    hay = random.Random(_SEED).sample(others, max(0, min(len(others), size - len(pins))))
    cut = round(place * len(hay))
    return replace(given, tools=_ordered(hay[:cut], pins, hay[cut:]), queries=tuple(kept))


def _ordered(*parts: Sequence[SetTool]) -> tuple[SetTool, ...]:
    return tuple(tool for part in parts for tool in part)


def _size(
    given: QuerySet,
    needles: Sequence[Labelled],
    size: int,
    *,
    encoder: CachedEncoder,
    models: Path,
) -> tuple[Cell, ...]:
    count = counter(ENCODING)
    part = haystack(given, needles, size, 0.5)
    static = sum(count.count(host_text(dict(tool.raw))) for tool in part.tools)
    with gateway_over(part, encoder=encoder, counter=count, models=models) as gateway:
        dynamic = mean(gateway.search(query).tokens for query in part.queries) + gateway.menu_tokens
    return (len(part.tools), *_hits(part, encoder), static, dynamic, 100 * (1 - dynamic / static))


def _position(
    given: QuerySet, needles: Sequence[Labelled], place: float, encoder: CachedEncoder
) -> tuple[Cell, ...]:
    part = haystack(given, needles, len(given.tools), place)
    return (f"{place:.0%}", *_hits(part, encoder))


def _hits(part: QuerySet, encoder: CachedEncoder) -> tuple[float, float]:
    """Per cent of the needles that are first, and among the first five."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", part, encoder)
        try:
            router = Router.from_store(db, load_catalog(db), None, encoder)
            ranks = [_rank(router, query) for query in part.queries]
        finally:
            db.close()
    return 100 * mean(r == 1 for r in ranks), 100 * mean(1 <= r <= 5 for r in ranks)


def _rank(router: Router, query: Labelled) -> int:
    """The needle's rank, 0 beyond the first ten."""
    ranked = router.route(query.query, limit=10)
    wanted = set(query.gold.tools)
    return next((tool.rank for tool in ranked.tools if tool.tool_id in wanted), 0)


def _notes() -> tuple[str, ...]:
    return (
        "MCP-Zero asks models to write the request and retrieves among 1 to 2,797 tools; here a"
        " user's own words are the request, which is harder, and no model takes part.",
        "A ranking does not know positions; that the position makes no difference is measured all"
        " the same, since ties could.",
    )
