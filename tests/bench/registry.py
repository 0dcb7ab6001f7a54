"""`bench registry`: labelled sets inside 8,000 real tools, with the paper's method beside ours.

A query is of the tuning or of the report half by its hash (requests.chose); what the server prior
weighs was chosen on the tuning halves. Requests are the shipped ones, as users get them: nearly all
of the registry's tools have some, of the sets' those that the pack knows.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw

from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.ranking.learning import learn
from app.ranking.learning.teaching import MOST_TOOLS
from app.ranking.router import Router
from store.records import LabelRecord
from tests.bench.data.catalogues import find_folder
from tests.bench.data.corpus import catalog_of, open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import Judged, judge, mean
from tests.bench.data.sets import Labelled, QuerySet, SetTool, read_set
from tests.bench.judging import DEPTH, Progress, judge_paper
from tests.bench.report import Cell, Column, Report, label, table
from tests.bench.requests import Texts, chose, pack_requests

SETS = ("azure-mcp", "livemcpbench")
FILE = Path("registry", "toolsdk_tools.jsonl")
LABELS = 50  # of the tuning half, that the last way learns from
_SHOWN = ("hit1", "r5", "r10", "ndcg10", "mrr", "cpu_ms")
_HALVES: Mapping[str, tuple[bool, ...]] = {"report": (False,), "both": (False, True)}
_NOTES = (
    "Queries fall into halves by their hash; the server prior's weight was chosen on the other"
    " half. Both halves together are what was measured from outside before there was a prior.",
    "A copy of the right tool that another server of the registry offers counts as wrong, and the"
    " registry has no schemas: its tools' texts are short, which words favour.",
    "requests: ours with the shipped pack's requests, which a set's tools have where the pack knows"
    f" them; catalogues of more than {MOST_TOOLS:,} tools are not taught by them.",
    "learned: ours without requests after 50 labelled queries of the tuning half, judged by the"
    " report half alone.",
    "CPU: the router with the encoder at work, no answer or vector of a query cached.",
)


def run(
    data: Path,
    encoder: Encoder,
    *,
    cache: Path | None = None,
    sets: Sequence[str] = SETS,
    progress: Progress = lambda _line: None,
) -> Report:
    """Every set alone and among the registry's tools."""
    hay = read_registry(data / FILE)
    cached = CachedEncoder(encoder, cache)
    rows: list[tuple[Cell, ...]] = []
    try:
        for name in sets:
            given = read_set(find_folder(data, [name]))
            own = {(tool.server, tool.name) for tool in given.tools}
            others = [tool for tool in hay if (tool.server, tool.name) not in own]
            texts = pack_requests([*given.tools, *others])
            for tools in (given.tools, (*given.tools, *others)):
                progress(f"{name} among {len(tools):,} tools")
                rows += _rows(replace(given, tools=tools), texts, encoder, cached)
    finally:
        cached.close()
    heads = [label("set"), Column("tools"), label("method"), label("half"), Column("queries")]
    made = table("Inside a registry of real tools", [*heads, *map(Column, _SHOWN)], rows)
    return Report("registry", (made,), _NOTES)


def read_registry(file: Path) -> tuple[SetTool, ...]:
    """The tools of a JSONL file with a server, a name and a description a line, each once."""
    tools: dict[tuple[str, str], SetTool] = {}
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = (str(row["server"]), str(row["name"]))
            raw = {
                "name": key[1],
                "description": row["description"] or "",
                "inputSchema": {"type": "object"},
            }
            tools.setdefault(key, SetTool(*key, raw))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolcribError(
            f"{file} cannot be read as a registry: {error!r}.",
            'Each line needs {"server": NAME, "name": NAME, "description": TEXT}.',
        ) from error
    return tuple(tools.values())


def _rows(
    given: QuerySet, texts: Texts, encoder: Encoder, cached: CachedEncoder
) -> Iterator[tuple[Cell, ...]]:
    halves = [chose(query.query) for query in given.queries]
    milliseconds = _encoder_ms(given.queries, encoder)
    cached.encode_queries([query.query for query in given.queries])
    judged = {"paper": judge_paper(given, given.queries, cached, encoder_ms=milliseconds)}
    with _store(given, cached, texts) as db:
        judged["requests"] = _ours(db, given.queries, encoder)
    with _store(given, cached, {}) as db:
        judged["ours"] = _ours(db, given.queries, encoder)
        if _learn(db, [q for q, tuned in zip(given.queries, halves, strict=True) if tuned], cached):
            judged["learned"] = _ours(db, given.queries, encoder)
    for way, outcomes in judged.items():
        for name, wanted in _HALVES.items():
            chosen = [one for one, tuned in zip(outcomes, halves, strict=True) if tuned in wanted]
            if chosen and not (way == "learned" and name == "both"):
                figures = mean(chosen)
                cells = (figures[column] for column in _SHOWN)
                yield (given.name, len(given.tools), way, name, len(chosen), *cells)


@contextmanager
def _store(given: QuerySet, encoder: CachedEncoder, texts: Texts) -> Iterator[apsw.Connection]:
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder, texts)
        try:
            yield db
        finally:
            db.close()


def _ours(db: apsw.Connection, queries: Sequence[Labelled], encoder: Encoder) -> list[Judged]:
    """Each query as the gateway asks it, encoding included."""
    router = Router.from_store(db, catalog_of(db), None, encoder)
    router.route("warm up the catalgoue", limit=DEPTH)  # a word that has to be looked up
    outcomes = []
    for query in queries:
        started = time.process_time()
        ranked = router.route(query.query, limit=DEPTH)
        spent = (time.process_time() - started) * 1000
        ids = [tool.tool_id for tool in ranked.tools]
        outcomes.append(judge(ids, [t.tool_id for t in ranked.shown], query.gold, cpu_ms=spent))
    return outcomes


def _learn(db: apsw.Connection, known: Sequence[Labelled], encoder: CachedEncoder) -> bool:
    """Learn from the first labels of a half; False where there are too few."""
    labels = [LabelRecord(0, q.query, q.gold.tools, "imported") for q in known[:LABELS]]
    if len(labels) < LABELS:
        return False
    encoder.encode_queries([one.query for one in labels])
    return learn.train(db, Router.from_store(db, catalog_of(db), None, encoder), labels).used


def _encoder_ms(queries: Sequence[Labelled], encoder: Encoder) -> float:
    encoder.encode_query("warm up")
    started = time.process_time()
    for query in queries:
        encoder.encode_query(query.query)
    return (time.process_time() - started) * 1000 / max(1, len(queries))
