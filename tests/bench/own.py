"""`bench own`: our own queries over real servers, and the floor calibrated on our chit-chat."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import apsw

from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.ranking.dense import MatrixRetriever
from app.ranking.floor import calibrated_floor, floor_for, load_floor, own_chit_chat
from app.ranking.ranked import Ranked
from app.ranking.router import Router, Scored
from store import requests, vectors
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Judged, judge, mean
from tests.bench.data.queries import KINDS, OwnQuery, missing, own_queries, read_servers, servers_of
from tests.bench.data.sets import QuerySet, SetTool
from tests.bench.report import Cell, Column, Report, label, table
from tests.bench.requests import pack_requests, scanned

_DEPTH = 50  # ranks looked at
_COLUMNS = ("hit1", "r5", "ndcg10", "recall", "active")
_SCANNED = (
    "tools' requests", "median floor", "no-tool queries refused %",
    "false refusals %", "other chit-chat refused %",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Texts:
    """What a floor is calibrated with and judged by."""

    chat: Sequence[str]
    other_chat: Sequence[str]
    good: Sequence[str]
    none: Sequence[str]


def run(
    file: Path, encoder: Encoder, *, sets: Sequence[QuerySet] = (), cache: Path | None = None
) -> Report:
    """Our queries over the servers they name and over all; the floor there and on other sets."""
    queries, tools = own_queries(), read_servers(file)
    lacking = missing(queries, tools)
    if lacking:
        raise ToolcribError(
            f"{file} lacks tools that our queries expect: {', '.join(lacking[:5])}.",
            "Use the catalogue of real servers.",
        )
    named = servers_of(queries)
    beds = {
        "their servers": [tool for tool in tools if tool.server in named],
        "all servers": list(tools),
    }
    cached = CachedEncoder(encoder, cache)
    ranked: list[tuple[Cell, ...]] = []
    floors: list[tuple[Cell, ...]] = []
    by_scan: list[tuple[Cell, ...]] = []
    try:
        for name, listed in beds.items():
            rows, floor = _bed(name, listed, queries, cached)
            ranked += rows
            floors.append(floor)
            by_scan += _scanned(name, listed, _texts(queries), cached)
        floors += [_set(given, cached) for given in sets]
    finally:
        cached.close()
    heads = [label("catalogue"), label("kind"), Column("tools"), Column("queries")]
    titles = ("floor", "our chit-chat refused %", "other chit-chat refused %",
              "false refusals %", "other chit-chat refused % with labels",
              "false refusals % with labels", "no-tool queries refused %")  # fmt: skip
    first = table("Our queries, cold", [*heads, *map(Column, _COLUMNS)], ranked)
    second = table("The floor", [label("catalogue"), *map(Column, titles)], floors)
    heads = [label("catalogue"), label("floor by"), *map(Column, _SCANNED)]
    third = table("The floor of the scan, with the pack's requests", heads, by_scan)
    return Report("own", (first, second, third), _notes())


def _bed(
    name: str, tools: Sequence[SetTool], queries: Sequence[OwnQuery], encoder: CachedEncoder
) -> tuple[list[tuple[Cell, ...]], tuple[Cell, ...]]:
    given = QuerySet(name, tuple(tools), {}, ())
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:
            router = Router.from_store(db, catalog_of(db), None, encoder)
            judged = [(q.kind, _judge(router, q)) for q in queries if q.gold.tools]
            floor = _floor(name, db, encoder, _texts(queries))
        finally:
            db.close()
    rows: list[tuple[Cell, ...]] = []
    for kind in (*KINDS, "all"):
        chosen = [row for query_kind, row in judged if kind in (query_kind, "all")]
        if chosen:
            figures = mean(chosen)
            rows.append((name, kind, len(tools), len(chosen), *(figures[c] for c in _COLUMNS)))
    return rows, floor


def _scanned(
    name: str, tools: Sequence[SetTool], texts: Texts, encoder: CachedEncoder
) -> Iterator[tuple[Cell, ...]]:
    """What the scan's floor refuses where tools have the pack's requests, without and with the
    world; with few requests both are the same."""
    given = QuerySet(name, tuple(tools), {}, ())
    groups = (texts.none, texts.good, texts.other_chat)
    with scanned(given, encoder, pack_requests(tools)) as (db, router):
        plain, routing = (
            load_floor(db, encoder.key, encoder.dims).plain,
            catalog_of(db).settings.routing,
        )
        scored = [[router.score(query, limit=_DEPTH) for query in group] for group in groups]

        def plainly(one: Scored) -> Ranked:
            floor = floor_for(one.request.query, plain)
            return router.judge(one, settings=replace(routing, floor=floor))

        for way, judged in (("requests", plainly), ("requests and world", router.judge)):
            ranked = [[judged(one) for one in row] for row in scored]
            refused = (_share(not one.shown for one in row) for row in ranked)
            floors = [one.floor for row in ranked for one in row]
            yield (name, way, requests.vector_count(db, encoder.key), median(floors), *refused)


def _set(given: QuerySet, encoder: CachedEncoder) -> tuple[Cell, ...]:
    texts = Texts(
        own_chit_chat(), own_chit_chat("chit-chat-heldout"), [q.query for q in given.queries], ()
    )
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:
            return _floor(given.name, db, encoder, texts)
        finally:
            db.close()


def _texts(queries: Sequence[OwnQuery]) -> Texts:
    return Texts(
        own_chit_chat(),
        own_chit_chat("chit-chat-heldout"),
        [q.query for q in queries if q.gold.tools],
        [q.query for q in queries if not q.gold.tools],
    )


def _judge(router: Router, query: OwnQuery) -> Judged:
    ranked = router.route(query.query, limit=_DEPTH)
    ids = [tool.tool_id for tool in ranked.tools]
    return judge(ids, [tool.tool_id for tool in ranked.shown], query.gold)


def _floor(
    name: str, db: apsw.Connection, encoder: CachedEncoder, texts: Texts
) -> tuple[Cell, ...]:
    """The floor by chit-chat alone; and with every other good query known, judged by the rest."""
    meaning = MatrixRetriever(vectors.load(db, encoder.key))
    chat, other, good, none = (  # best cosines
        _nearest(meaning, encoder, group)
        for group in (texts.chat, texts.other_chat, texts.good, texts.none)
    )
    floor = calibrated_floor(chat)
    known, rest = good[::2], good[1::2]
    labelled = calibrated_floor(chat, known)
    return (
        name, floor, _under(chat, floor), _under(other, floor), _under(good, floor),
        _under(other, labelled), _under(rest, labelled), _under(none, floor) if none else None,
    )  # fmt: skip


def _nearest(
    meaning: MatrixRetriever, encoder: CachedEncoder, queries: Sequence[str]
) -> list[float]:
    rows = encoder.encode(queries, query=True) if queries else []
    return [max(meaning.all([row.tobytes()])[0].values(), default=0.0) for row in rows]


def _under(values: Sequence[float], floor: float) -> float:
    return 100 * sum(value < floor for value in values) / len(values) if values else 0.0


def _share(of: Iterable[bool]) -> float:
    values = list(of)
    return 100 * sum(values) / max(1, len(values))


def _notes() -> tuple[str, ...]:
    return (
        "Expected tools are those of one server; with all servers in the catalogue others can do"
        " the same (four browsers, three trackers), so the second half is a lower bound.",
        "recall and active are at the default cut; paraphrase uses none of the tool's words.",
        "The floor is made from 30 chit-chat queries alone; with labels, half of the good queries"
        " bound it as well, and the other half judges it.",
        "The floor of the scan: by requests alone one cosine; with the world each query's own, as"
        " `bench requests` says, and as scans set it. Both are judged by searches.",
    )
