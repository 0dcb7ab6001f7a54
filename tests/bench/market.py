"""Search by tool over the public index, and a sync of 30,000 servers, as measured.

Usage: python -m tests.bench.market DATA [search|sync]      (DATA: ../shared/data)

Queries and their tools (market_queries.jsonl) were written before any search existed; half of them
was kept until the end. Beside the product's search: words only, plain cosine, and what the official
registry does, a substring of the name. A tool counts where it is among the first five of all tools.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fakes")]

from fake_registry import (  # type: ignore[import-not-found]  # noqa: E402 - by its folder
    entry,
    fake_registry,
)

from app.core.context import AppContext  # noqa: E402
from app.core.paths import Paths  # noqa: E402
from app.core.settings import Settings  # noqa: E402
from app.encoder.onnx import Encoder  # noqa: E402
from app.encoder.weights import ensure_model  # noqa: E402
from app.market import sources  # noqa: E402
from app.market.entry import read_entry  # noqa: E402
from app.market.index import MarketIndex, prepare  # noqa: E402
from app.market.records import row_of  # noqa: E402
from app.market.seed import entry_name, take_seed  # noqa: E402
from app.market.sync import sync  # noqa: E402
from store import market  # noqa: E402
from store.connection import transaction  # noqa: E402
from store.market import MarketSource, MarketTool  # noqa: E402
from tests.bench.cpu import peak_megabytes  # noqa: E402

QUERIES = Path(__file__).with_name("market_queries.jsonl")
Ranking = Callable[[str], Sequence[str]]
MODELS = Path(os.environ.get("TOOLCRIB_MODELS", ROOT / ".venv" / "models"))


def context(home: Path) -> AppContext:
    """A context of its own; the exported encoder is shared."""
    ctx = AppContext(Paths(home, MODELS), Settings())
    ctx.paths.create()
    return ctx


def take_index(db: apsw.Connection, data: Path) -> None:
    """The public index with its own descriptions, as a registry would list it."""
    tools: dict[str, list[MarketTool]] = {}
    file = data / "registry" / "toolsdk_tools.jsonl"
    for tool in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        about = " ".join(str(tool["description"] or "").split())[:400]
        tools.setdefault(tool["server"], []).append(MarketTool(tool["name"], about))
    with transaction(db):
        market.add_source(db, MarketSource(0, "https://index.example", "index"))
        source = market.sources(db)[0]
        for name, rows in tools.items():
            package = {"registryType": "npm", "identifier": name, "version": "1.0.0"}
            raw = {"name": entry_name("npm", name), "packages": [package]}
            market.save(db, source, [row_of(read_entry(raw), tuple(rows))])


def rankings(db: apsw.Connection, encoder: Encoder) -> dict[str, Ranking]:
    """Names of tools, best first, by each way of searching."""
    rows = list(db.execute("SELECT id, package, name, text FROM market_tools"))
    names = {row[0]: f"{row[1].partition(':')[2]}/{row[2].lower()}" for row in rows}

    def documents(index: MarketIndex) -> Ranking:
        def ranked(query: str) -> list[str]:
            return [names[-id_] for id_ in index.documents(query)[0] if id_ < 0]

        return ranked

    def cosine(query: str) -> list[str]:
        cosines = MarketIndex(db, encoder).documents(query)[1]
        return [names[-i] for i in sorted(cosines, key=lambda i: -cosines[i]) if i < 0]

    def substring(query: str) -> list[str]:
        text = query.lower()
        return [name for name in names.values() if text in name]

    return {
        "product": documents(MarketIndex(db, encoder)),
        "words only": documents(MarketIndex(db, None)),
        "plain cosine": cosine,
        "substring of the name": substring,
    }


def search(data: Path) -> None:
    """Recall over both halves, for the shipped list and for the index's own descriptions."""
    queries = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    for what in ("shipped list", "index's descriptions"):
        with tempfile.TemporaryDirectory() as folder:
            ctx = context(Path(folder))
            encoder = Encoder.load(ensure_model(ctx.paths))
            db = ctx.open_store()
            if what == "shipped list":
                take_seed(db, time.time)
            else:
                take_index(db, data)
            began = time.process_time()
            number = prepare(db, encoder)
            spent = time.process_time() - began
            print(f"{what}: {number:,} texts prepared in {spent:.0f} s of CPU", flush=True)
            for name, ranked in rankings(db, encoder).items():
                ranked("warm up")
                for half in ("open", "held"):
                    chosen = [row for row in queries if row["half"] == half]
                    began = time.process_time()
                    places = [_place(ranked(row["query"]), row["tools"]) for row in chosen]
                    ms = 1000 * (time.process_time() - began) / len(chosen)
                    at = [100 * sum(p < k for p in places) / len(chosen) for k in (1, 5)]
                    print(
                        f"  {name:22} {half}: R@1 {at[0]:.1f}  R@5 {at[1]:.1f}  {ms:.1f} ms",
                        flush=True,
                    )
            db.close()


def _place(ranked: Sequence[str], tools: Sequence[str]) -> int:
    wanted = {tool.lower() for tool in tools}
    return next((place for place, name in enumerate(ranked) if name in wanted), 1_000_000)


def sync_many(number: int = 30_000) -> None:
    """A sync that is killed halfway and goes on, searches meanwhile, and what it leaves."""
    items = [entry(n) for n in range(number)]
    with tempfile.TemporaryDirectory() as folder, fake_registry(items) as server:
        ctx = context(Path(folder))
        db = ctx.open_store()
        source = sources.add(ctx, db, server.url, name="team", private=True)
        environ = {**os.environ, "TOOLCRIB_HOME": folder, "TOOLCRIB_MODELS": "/nowhere"}
        command = [sys.executable, "-m", "ui.main", "registry", "sync", "team"]
        child = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.DEVNULL)
        while market.count(db)[0] < number // 2:
            time.sleep(0.05)
        child.kill()
        child.wait()
        print(f"killed at {market.count(db)[0]:,} servers", flush=True)
        source = sources.named(db, "team")
        index, other, searches = MarketIndex(db, None), ctx.open_store(), []

        def look(_progress: object) -> None:
            began = time.perf_counter()
            index.find("extract text from a PDF file")
            searches.append(1000 * (time.perf_counter() - began))

        before, began, cpu = peak_megabytes(), time.perf_counter(), time.process_time()
        done = sync(ctx, other, source, on_progress=look)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = ctx.paths.database.stat().st_size
        print(
            f"went on: {done.progress.servers:,} servers, {done.progress.bytes / 1e6:.1f} MB in"
            f" {wall:.1f} s ({cpu:.1f} s of CPU with the registry's own and {len(searches)}"
            f" searches of {sorted(searches)[len(searches) // 2]:.1f} ms), {market.count(db)[0]:,}"
            f" listed, {size / 1e6:.1f} MB on disk, peak of memory"
            f" {before} -> {peak_megabytes()} MB",
            flush=True,
        )
        print(f"{len(server.headers_seen)} requests", flush=True)
        other.close()
        db.close()


if __name__ == "__main__":
    what = sys.argv[2] if len(sys.argv) > 2 else ""
    if what in ("", "search"):
        search(Path(sys.argv[1]))
    if what in ("", "sync"):
        sync_many()
