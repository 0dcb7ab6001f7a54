"""CPU time of taking tools in, from a list to searchable rows, at growing sizes of a catalogue."""

import random
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.indexing.indexer import Indexer
from app.indexing.ingest import save_reading, text_judge
from app.indexing.reading import Limits, Reading
from app.indexing.tool_checks import check_tools
from store import servers
from store.connection import transaction
from store.records import EntryRecord, ServerSpec
from store.typed import Json
from tests.bench.cpu import peak_megabytes
from tests.bench.report import Column, Report, label, table

EACH = 5_000  # tools of a server, the most that are read of one
MOST = 50_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_STAGES = ("check", "judge", "store", "index")


def run(most: int = MOST, each: int = EACH) -> Report:
    """Take in one server after another until there are `most` tools."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        rows = _grow(AppContext(Paths(Path(folder), Path(folder)), Settings()), most, each)
    names = (*(f"{stage} s" for stage in _STAGES), "CPU ms a tool", "peak MB")
    columns = [label("tools"), *(Column(name) for name in names)]
    growth = rows[-1][-2] / rows[0][-2]
    return Report(
        "indexing",
        (table("Tools taken in, without vectors", columns, rows),),
        (f"A tool of the last server costs {growth:.2f} times one of the first.",),
    )


def _grow(ctx: AppContext, most: int, each: int) -> list[list[float]]:
    rng = random.Random(7)
    words = ["".join(rng.choices(_LETTERS, k=rng.randint(3, 9))) for _ in range(3_000)]
    db = ctx.open_store()
    indexer = Indexer(ctx, db)
    rows: list[list[float]] = []
    for number in range(most // each):
        entries = [_entry(rng, words, place) for place in range(each)]
        spent = _take_in(db, indexer, f"made-{number}", entries)
        peak = peak_megabytes()
        rows.append([(number + 1) * each, *spent, 1000 * sum(spent) / each, peak])
    db.close()
    return rows


def _take_in(
    db: apsw.Connection, indexer: Indexer, name: str, entries: Sequence[Json]
) -> list[float]:
    """CPU seconds of each stage for one server's list."""
    marks = [time.process_time()]

    def mark() -> None:
        marks.append(time.process_time())

    tools = check_tools(entries, Limits())
    mark()
    with transaction(db):
        entry, spec = EntryRecord("manual", "manual", "", name), ServerSpec("stdio", key=name)
        server = servers.place(db, entry, spec, name=name, trusted=True)
    judge = text_judge(db, server, tools)
    assert judge is not None
    judge.run()
    mark()
    with transaction(db):
        save_reading(db, server, Reading(tools=tools), judge.judged, at=1.0)
    mark()
    indexer.texts(server)
    mark()
    return [after - before for before, after in pairwise(marks)]


def _entry(rng: random.Random, words: list[str], place: int) -> Json:
    properties = {
        rng.choice(words): {"type": "string", "description": " ".join(rng.choices(words, k=5))}
        for _ in range(3)
    }
    return {
        "name": f"{rng.choice(words)}_{place}",
        "description": " ".join(rng.choices(words, k=30)),
        "inputSchema": {"type": "object", "properties": properties},
    }
