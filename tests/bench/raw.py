"""`bench raw`: what people type themselves, in their language, with their traces and steps.

The servers' requests are left out (`cold`), or kept for a half of the tools by hash (`half`), so
that tools with and without requests compete as on a machine with private servers.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.encoder.onnx import Encoder
from app.ranking.router import Router
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.long_prompts import PLACES, long_prompts
from tests.bench.data.metrics import Judged, judge, mean
from tests.bench.data.raw import (
    KINDS,
    RawQuery,
    listed_tools,
    model_requests,
    raw_queries,
    raw_servers,
)
from tests.bench.data.sets import QuerySet, SetTool
from tests.bench.registry import FILE, read_registry
from tests.bench.report import Cell, Column, Report, label, table
from tests.bench.requests import Texts, pack_requests, scanned

DEPTH = 50
_SHOWN = ("hit1", "r5", "r10", "ndcg10")
_NOTES = (
    "Gold was written before anything was run; halves by the hash of the query's text."
    " First hit counts any gold tool, first step only the first step's.",
    "refused: queries that get no tool, of those that no tool answers (none) and of the others.",
    "pack, model: every tool has requests, the shipped pack's or a model's; half: a half of the"
    " tools, by hash, has them. With and without are the queries whose first tool has some or not.",
    "The index of set 1's servers holds names and descriptions only: no parameters. The pack knows"
    " set 1's tools and none of set 2's. For those a model wrote requests as a user's own does"
    " (toolcrib requests write): from the prompt of app/ranking/rewrite.py alone, by a writer who"
    " had seen no query. Set 3 is over the servers of both, with both's requests (pack);"
    " its queries were written before the glosses, by their writer, so words agree more than"
    " a stranger's.",
)
_READ_TWICE = (
    "The second reading of this half. The first, before steps were told by their form, questions"
    " lowered tools that change something, and 400 words were added to the glosses, gave with a"
    " model's requests R@5 84.9, first hit 64.9, first step 60.5, good ones refused 4.4."
)
_LONG_NOTE = (
    "Long prompts: 200 to 2,150 words of story, rules and pasted files with a request at the"
    " beginning, in the middle or at the end; alone is the request without them."
)


def run(
    data: Path,
    encoder: Encoder,
    *,
    half: str,
    number: int = 1,
    long: bool = False,
    cache: Path | None = None,
) -> Report:
    """Every kind of query of a set's half, cold and with requests for a half of the tools; or
    `long` prompts."""
    tools = raw_tools(data, number)
    texts = {} if number == 2 else pack_requests(tools)
    texts |= {} if number == 1 else model_requests()
    lucky = {tool: written for tool, written in texts.items() if _is_lucky(tool)}
    queries = long_prompts(half) if long else raw_queries(half, number)
    cached = CachedEncoder(encoder, cache)
    rows: list[tuple[Cell, ...]] = []
    try:
        full = "model" if number == 2 else "pack"
        for way, used in {"cold": {}, "half": lucky, full: texts}.items():
            rows += _way(way, used, tools, queries, cached)
            if long:
                alone = long_prompts(half, alone=True)
                rows += _way(f"{way}, alone", used, tools, alone, cached)
    finally:
        cached.close()
    heads = [label("requests"), label("kind"), Column("queries"), *map(Column, _SHOWN)]
    heads += [Column("first step"), Column("refused %"), Column("cpu ms")]
    name = "long prompts" if long else f"set {number}"
    notes = (*_NOTES, _LONG_NOTE) if long else _NOTES
    notes = (*notes, _READ_TWICE) if (name, half) == ("set 2", "kept") else notes
    made = table(f"Raw queries, {name}, {half} half", heads, rows)
    return Report(f"raw: {name}, {half} half", (made,), notes)


def raw_tools(data: Path, number: int) -> tuple[SetTool, ...]:
    """The tools of a set's servers; those of the first are in the registry."""
    first = () if number == 2 else raw_servers(read_registry(data / FILE))
    return (*first, *(() if number == 1 else listed_tools()))


def _is_lucky(tool: str) -> bool:
    return hashlib.sha256(f"half {tool}".encode()).digest()[0] % 2 == 0


def _way(
    way: str,
    texts: Texts,
    tools: Sequence[SetTool],
    queries: Sequence[RawQuery],
    encoder: CachedEncoder,
) -> Iterator[tuple[Cell, ...]]:
    with scanned(QuerySet("raw", tuple(tools), {}, ()), encoder, texts) as (_db, router):
        outcomes = [(query, *_outcome(router, query)) for query in queries]
    groups: dict[str, list[tuple[RawQuery, Judged | None, float, bool]]] = {
        kind: [one for one in outcomes if one[0].kind == kind]
        for kind in dict.fromkeys((*KINDS, *PLACES))
        if any(query.kind == kind for query in queries)
    }
    answerable = [one for one in outcomes if one[0].gold.tools]
    for language in sorted({one[0].language for one in groups.get("other", ())}):
        groups[f"other: {language}"] = [o for o in groups["other"] if o[0].language == language]
    groups["answerable"] = answerable
    if way == "half":
        groups["with"] = [o for o in answerable if o[0].gold.tools[0] in texts]
        groups["without"] = [o for o in answerable if o[0].gold.tools[0] not in texts]
    for name, chosen in groups.items():
        judged = [one[1] for one in chosen if one[1]]
        figures = mean(judged)
        shown = [figures[name] if judged else None for name in _SHOWN]
        first = 100 * sum(one[2] for one in chosen) / max(1, len(chosen)) if judged else None
        refused = 100 * sum(one[3] for one in chosen) / max(1, len(chosen))
        spent = figures["cpu_ms"] if judged else None
        yield (way, name, len(chosen), *shown, first, refused, spent)


def _outcome(router: Router, query: RawQuery) -> tuple[Judged | None, float, bool]:
    """A query's figures, whether the first tool is the first step's, and whether none is shown."""
    started = time.process_time()
    ranked = router.route(query.query, limit=DEPTH)
    spent = (time.process_time() - started) * 1000
    ids = [tool.tool_id for tool in ranked.tools]
    refused = not ranked.shown
    if not query.gold.tools:
        return None, 0.0, refused
    first = query.gold.same.get(ids[0], ids[0]) if ids else ""
    made = judge(ids, [t.tool_id for t in ranked.shown], query.gold, cpu_ms=spent)
    return made, float(first == query.gold.tools[0]), refused
