"""`bench discovery`: the semantic discovery paper's Table 1 (static, dynamic) on real tools."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median, quantiles

from app.encoder.onnx import Encoder
from app.tokens.counters import counter
from app.tokens.host_text import host_text
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import Labelled, QuerySet, SetTool
from tests.bench.data.testbed import tool_id
from tests.bench.report import PUBLISHED, Column, Report, label, table
from tests.bench.searching import Searched, gateway_over

ENCODING = "o200k_base"
SIZES = (10, 25, 50, 100, 200)
# the paper's Table 1: size -> static, dynamic tokens (by its characters / 4)
TABLE_1 = {
    10: (4200, 1800),
    25: (10500, 2100),
    50: (21000, 2400),
    100: (42000, 2800),
    200: (84000, 3200),
}
_SEED = 42


def run(given: QuerySet, encoder: Encoder, *, cache: Path | None = None) -> Report:
    """Tokens, time and accuracy of the gateway's search over 10 to 200 tools of a labelled set."""
    count = counter(ENCODING)
    rows, times = [], []
    cached = CachedEncoder(encoder, cache)
    try:
        for size in SIZES:
            part = library(given, size)
            static = sum(count.count(host_text(dict(tool.raw))) for tool in part.tools)
            models = encoder.files.onnx.parents[1]
            with gateway_over(part, encoder=cached, counter=count, models=models) as gateway:
                searches = [gateway.search(query) for query in part.queries]
                dynamic = gateway.menu_tokens + mean(f.tokens for f in searches)
            rows.append((len(part.tools), *_row(size, static, dynamic, searches)))
            times.append((len(part.tools), len(searches), *_spread([f.ms for f in searches])))
    finally:
        cached.close()
    tokens = table(
        f"Tool tokens: all schemas against search ({given.name}, {ENCODING})",
        [
            label("tools"), Column("static"), Column("dynamic"), Column("less %"),
            Column("first is right %"), Column("named %"),
            Column("paper static", PUBLISHED), Column("paper dynamic", PUBLISHED),
            Column("paper less %", PUBLISHED),
        ],
        rows,
    )  # fmt: skip
    latency = table(
        "Time of one search_tools call, encoder included (the paper: 80 ms median, 250 ms p95)",
        [label("tools"), Column("queries"), Column("median ms"), Column("p95 ms")],
        times,
    )
    return Report("discovery", (tokens, latency), _notes(given))


def library(given: QuerySet, size: int) -> QuerySet:
    """`size` tools of a set with the queries that they can answer; the same tools every time."""
    rng = random.Random(_SEED)
    queries = list(given.queries)
    rng.shuffle(queries)
    wanted: dict[str, None] = {}
    kept: list[Labelled] = []
    for query in queries:
        both = wanted | dict.fromkeys(query.gold.tools)
        if len(both) <= max(2, size // 2):
            wanted = both
            kept.append(query)
    others = [tool for tool in given.tools if tool_id(tool) not in wanted]
    filling = rng.sample(others, max(0, min(len(others), size - len(wanted))))
    return replace(
        given, tools=tuple(_named(given.tools, wanted)) + tuple(filling), queries=tuple(kept)
    )


def _named(tools: Sequence[SetTool], names: dict[str, None]) -> list[SetTool]:
    return [tool for tool in tools if tool_id(tool) in names]


def _row(size: int, static: int, dynamic: float, searches: Sequence[Searched]) -> tuple[float, ...]:
    published = TABLE_1[size]
    return (
        static,
        dynamic,
        100 * (1 - dynamic / static),
        100 * mean(f.first for f in searches),
        100 * mean(f.listed for f in searches),
        *published,
        100 * (1 - published[1] / published[0]),
    )


def _spread(times: Sequence[float]) -> tuple[float, float]:
    return median(times), quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def _notes(given: QuerySet) -> tuple[str, ...]:
    return (
        f"Tools and queries are real ones of {given.name}; half of each library at most are"
        " tools that some query needs.",
        "Dynamic is the two tools that stand in tools/list and the mean answer of one search; the"
        " paper's also counts tools that are always included.",
        "The paper's figures are characters / 4 of a made library with 420 tokens a tool.",
    )
