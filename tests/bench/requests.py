"""`bench requests`: what requests beside descriptions are worth, on sets and on our own queries.

The requests are those that users get: the shipped pack's (app/ranking/requests.py). Sets of which
the pack knows no tool are left out: there it changes nothing.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import apsw

from app.encoder.onnx import Encoder
from app.ranking.floor import LEAST_REQUESTS, REFUSED_REQUESTS, SHARE, set_scan_floor
from app.ranking.requests import pack_key, read_pack, tool_text_hash
from app.ranking.router import Router
from app.ranking.world import EVERY, NEAREST, world_requests
from store.connection import transaction
from store.records import ToolRecord
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.developers import KINDS, DeveloperQuery, developer_queries
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import FIELDS, Judged, average, judge, mean
from tests.bench.data.queries import read_servers
from tests.bench.data.sets import QuerySet, SetTool, read_set
from tests.bench.judging import Progress, encode_queries, judge_ours, judge_paper, sample
from tests.bench.report import Cell, Column, Report, label, table

Texts = Mapping[str, Sequence[str]]  # requests by server/tool

_DEPTH = 50  # ranks looked at
_SHOWN = ("hit1", "r5", "r10", "ndcg10", "mrr")
_NOTES = (
    "The requests are the shipped pack's, as users get them. It knows no tool of the sets that are"
    " left out here: with it they are as without.",
    "How far a tool's cosine moves to its best request's (0.6) and the field's weight (1) were"
    " chosen on the half of mcpproxy-golden, api-bank, metatool, azure-mcp and our queries whose"
    " hash is even, with requests of our own that are not shipped; 'other half' is what that choice"
    " did not see; livemcpbench chose nothing.",
    "With requests the catalogue is also taught by them, each as a catalogue without it would rank"
    " it (app/ranking/learning/taught.py), as every scan does; how, was chosen on the same halves.",
    "Developer queries: 120 over the real servers, typed as developers type (raw) and as an agent"
    " would word them, frozen before anything was tuned; their author also wrote the pack.",
    "The floor of the scan: without requests one cosine, the median of our chit-chat's best; with"
    f" {LEAST_REQUESTS} requests or more each query has its own, {SHARE} of its likeness to the"
    f" world (the mean of its {NEAREST} nearest of resources/queries/world.txt and of every"
    f" {EVERY}th request of the pack for tools that are not there) and what"
    f" {100 * REFUSED_REQUESTS:g} % of the catalogue's requests, each left out, stay under; never"
    " less than that median.",
)


def run(
    data: Path,
    encoder: Encoder,
    *,
    cache: Path | None = None,
    limit: int = 0,
    progress: Progress = lambda _line: None,
) -> Report:
    """All tables; sets of which the pack knows no tool are left out."""
    cached = CachedEncoder(encoder, cache)
    try:
        rows = _sets(data, cached, limit, progress)
        progress("120 developer queries over the real servers")
        real = read_servers(data / "catalog" / "real_catalog.jsonl")
        developers, floors = _developers(real, cached)
    finally:
        cached.close()
    heads = [label("set"), Column("tools"), Column("with requests"), label("method")]
    heads.append(Column("queries"))
    first = table("The pack's requests beside descriptions", [*heads, *map(Column, _SHOWN)], rows)
    heads = [label("requests"), label("kind"), label("worded"), Column("searches")]
    second = table("Developer queries", [*heads, *map(Column, _SHOWN)], developers)
    titles = ("median floor", "unanswerable refused %", "answerable refused %")
    third = table("The floor of the scan", [label("requests"), *map(Column, titles)], floors)
    return Report("requests", (first, second, third), _NOTES)


def pack_requests(tools: Sequence[SetTool]) -> dict[str, tuple[str, ...]]:
    """What the shipped pack holds for these tools, by server/tool."""
    pack = read_pack()
    requests = {}
    for tool in tools:
        record = ToolRecord(0, 0, "", tool.name, dict(tool.raw), "", "")
        requests[f"{tool.server}/{tool.name}"] = pack.get(pack_key(tool_text_hash(record)), ())
    return requests


def _sets(
    data: Path, encoder: CachedEncoder, limit: int, progress: Progress
) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    every: dict[str, list[dict[str, float]]] = {}
    for folder in sorted(file.parent for file in data.rglob("catalogue.jsonl")):
        given = read_set(folder)
        texts = pack_requests(given.tools)
        known = sum(map(bool, texts.values()))
        if not known or not given.queries:
            continue
        progress(f"{given.name}: {len(given.tools)} tools, {len(given.queries)} queries")
        queries = sample(given.queries, limit)
        encode_queries(queries, encoder)
        judged = {"paper": judge_paper(given, queries, encoder, encoder_ms=0.0)}
        for way, used in (("without", {}), ("with", texts)):
            with scanned(given, encoder, used) as (_db, router):
                judged[way] = [judge_ours(router, q, encoder, encoder_ms=0.0) for q in queries]
        unseen = [i for i, q in enumerate(queries) if not chose(q.query)]
        for way in ("without", "with"):
            judged[f"{way}, other half"] = [judged[way][i] for i in unseen]
        for way, outcomes in judged.items():
            figures = mean(outcomes) if outcomes else dict.fromkeys(FIELDS, 0.0)
            every.setdefault(way, []).append(figures)
            shown = (figures[name] for name in _SHOWN)
            rows.append((given.name, len(given.tools), known, way, len(outcomes), *shown))
    for way, tables in every.items():
        figures = average(tables)
        rows.append(("macro", None, None, way, None, *(figures[name] for name in _SHOWN)))
    return rows


def chose(query: str) -> bool:
    """Whether a query is of the half that constants were chosen on."""
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 0


@contextmanager
def scanned(
    given: QuerySet, encoder: CachedEncoder, texts: Texts
) -> Iterator[tuple[apsw.Connection, Router]]:
    """A store with the set's tools and these requests, with the floor of a scan, and its router."""
    encoder.encode([request.text for request in world_requests()])  # at once, and kept
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder, texts)
        try:
            with transaction(db):
                set_scan_floor(db, encoder, lambda: 0.0)
            yield db, Router.from_store(db, catalog_of(db), None, encoder)
        finally:
            db.close()


def _developers(
    tools: Sequence[SetTool], encoder: CachedEncoder
) -> tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]]]:
    queries = developer_queries()
    rows: list[tuple[Cell, ...]] = []
    floors: list[tuple[Cell, ...]] = []
    for name, texts in (("none", {}), ("pack", pack_requests(tools))):
        given = QuerySet("real", tuple(tools), {}, ())
        with scanned(given, encoder, texts) as (_db, router):
            rows += _worded(name, router, queries)
            floors.append((name, *_refused(router, queries)))
    return rows, floors


def _worded(
    name: str, router: Router, queries: Sequence[DeveloperQuery]
) -> Iterator[tuple[Cell, ...]]:
    for worded, texts in (("raw", _raw), ("agent", _agent)):
        judged = {kind: list(texts(router, queries, kind)) for kind in KINDS if kind != "none"}
        judged["all"] = [row for rows in judged.values() for row in rows]
        for kind, outcomes in judged.items():
            figures = mean(outcomes)
            yield (name, kind, worded, len(outcomes), *(figures[field] for field in _SHOWN))


def _raw(router: Router, queries: Sequence[DeveloperQuery], kind: str) -> Iterator[Judged]:
    for query in queries:
        if query.kind == kind:
            ranked = router.route(query.query, limit=_DEPTH)
            yield judge([t.tool_id for t in ranked.tools], [], query.gold)


def _agent(router: Router, queries: Sequence[DeveloperQuery], kind: str) -> Iterator[Judged]:
    """One search a step, each for its own tool."""
    for query in queries:
        if query.kind == kind:
            for text, gold in query.steps():
                ranked = router.route(text, limit=_DEPTH)
                yield judge([t.tool_id for t in ranked.tools], [], gold)


def _refused(router: Router, queries: Sequence[DeveloperQuery]) -> tuple[float, float, float]:
    """The median floor, and how many of the unanswerable and of the answerable get no tool, in
    per cent."""
    counts: dict[bool, list[bool]] = {False: [], True: []}
    floors = []
    for query in queries:
        ranked = router.route(query.query, limit=_DEPTH)
        counts[bool(query.gold.tools)].append(not ranked.shown)
        floors.append(ranked.floor)
    none, good = (100 * sum(counts[key]) / max(1, len(counts[key])) for key in (False, True))
    return median(floors), none, good
