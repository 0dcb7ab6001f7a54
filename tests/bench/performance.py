"""What Toolcrib itself costs: CPU time and ratios within one run, never wall time alone."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from app.catalog.catalog import load_catalog
from app.gateway.outgoing import ResultHistory
from app.policy.budget import Budget
from app.policy.pruner import propose
from app.policy.splitter import split
from app.policy.usage import read_usage
from app.ranking.router import Router
from store.connection import open_store
from store.typed import Json
from tests.bench.cpu import CpuClock, cpu_now, cpu_of
from tests.bench.data.made import MadeEncoder, embed, fill
from tests.bench.report import Column, Report, label, table

RUNS = 7

Answer = dict[str, dict[str, list[object]]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure with the bound it is held against."""

    name: str
    value: float
    unit: str
    bound: float
    note: str

    @property
    def kept(self) -> bool:
        """Whether the figure is within its bound."""
        return self.value <= self.bound


def measure() -> tuple[Figure, ...]:
    """Every performance figure (Linux; the median of several runs; the window offscreen)."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        home = Path(folder)
        db = open_store(home / "toolcrib.db")
        fill(db, server_count=1, tools_each=350, encoding="o200k_base")
        db.close()
        env = {**os.environ, "TOOLCRIB_HOME": str(home), "TOOLCRIB_STANDALONE": "1"}
        window = (*_window(), *_turns())
        return (*_gateway(env), _data_out(), *_results_read(), *_routing(), _suggestions(), *window)


def report(
    figures: Sequence[Figure],
    name: str = "bench performance",
    title: str = "What Toolcrib costs",
) -> Report:
    """The figures as a table."""
    columns = [
        label("figure"),
        Column("value"),
        label("unit"),
        label("bound"),
        label("kept"),
        label("note"),
    ]
    rows = [
        (f.name, round(f.value, 2), f.unit, f.bound, "yes" if f.kept else "NO", f.note)
        for f in figures
    ]
    notes = (
        "CPU time of whole processes (/proc/PID/task/*/schedstat, wait4) or of the calling thread"
        " (time.process_time), in one run; bounds are those of the issues.",
    )
    return Report(name, (table(title, columns, rows),), notes)


def _gateway(env: Mapping[str, str]) -> tuple[Figure, Figure]:
    base, starts, lists = [], [], []
    for _ in range(RUNS):
        base.append(cpu_of([sys.executable, "-c", "import apsw"]))
        start, listed = _start_and_list(env)
        starts.append(start)
        lists.append(listed)
    ratio = statistics.median(s / b for s, b in zip(starts, base, strict=True))
    start_ms, base_ms = (statistics.median(x) * 1000 for x in (starts, base))
    return (
        Figure(
            "gateway: spawn to the initialize answer, over `python -c 'import apsw'`",
            ratio,
            "x CPU",
            3.0,
            f"{start_ms:.0f} ms against {base_ms:.0f} ms, median of {RUNS}",
        ),
        Figure(
            "gateway: tools/list of 350 tools after initialize",
            statistics.median(lists) * 1000,
            "ms CPU",
            10.0,
            f"median of {RUNS}",
        ),
    )


def _start_and_list(env: Mapping[str, str]) -> tuple[float, float]:
    """CPU seconds up to the initialize answer, and from there to the tools/list answer."""
    command = [sys.executable, "-m", "app.gateway.main", "--profile", "default"]
    process = subprocess.Popen(
        [*command, "--server", "made-00", "--", "made"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        cwd=Path(__file__).parents[2],
    )
    try:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        _request(process, "initialize", hello)
        first = cpu_now(process.pid)
        answer = _request(process, "tools/list", {})
        second = cpu_now(process.pid)
        count = len(answer["result"]["tools"])
        if count != 350:
            raise RuntimeError(f"the gateway listed {count} tools instead of 350")
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait(10)
        if process.stdout:
            process.stdout.close()
    return first, second - first


def _request(process: "subprocess.Popen[bytes]", method: str, params: object) -> Answer:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the gateway has no pipes")
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    answer: Answer = json.loads(process.stdout.readline())
    return answer


def _data_out() -> Figure:
    """A call that could carry something out, compared with sixty results of 2 kB."""
    seen = ResultHistory()
    for number in range(60):
        words = f"Parcel {number} of the order was opened on its way, says the customer. " * 30
        seen.note(f"server-{number % 4}", {"content": [{"type": "text", "text": words}]})
    seen.read()
    arguments = {"to": "ann@shop.example", "body": "The refund of that parcel is agreed. " * 13}
    ms = _median_ms(partial(seen.carried, "mail", "send_mail", arguments))
    name = "gateway: what a call of 500 characters carries out, for tools that can send"
    return Figure(name, ms, "ms CPU", 0.5, f"median of {RUNS}; other calls are not compared")


def _results_read() -> tuple[Figure, ...]:
    """What remembering a result costs, after the host has it."""
    seen = ResultHistory()
    figures = []
    for size, bound in ((2_000, 0.1), (1_000_000, 5.0)):
        words = "Parcel 17 of the order was opened on its way, says the customer. "
        result: Json = {"content": [{"type": "text", "text": words * (size // len(words))}]}

        def read(result: Json = result) -> None:
            seen.note("tickets", result)
            seen.read()

        name = f"gateway: a result of {size // 1000:,} kB looked through for what may not leave"
        note = f"median of {RUNS}; after the host's answer, the first 200 kB"
        figures.append(Figure(name, _median_ms(read), "ms CPU", bound, note))
    return tuple(figures)


def _routing() -> tuple[Figure, ...]:
    """A short query (no clauses) as the gateway asks it; the encoder's own time is not in it."""
    figures = []
    ways = (("words", None), ("words and meaning", MadeEncoder()))
    for count, bound in ((3000, 8.0), (10_000, 25.0)):
        with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
            db = open_store(Path(folder) / "toolcrib.db")
            fill(db, server_count=count // 100, tools_each=100, encoding="o200k_base")
            embed(db, MadeEncoder())
            for way, encoder in ways:
                router = Router.from_store(db, load_catalog(db), None, encoder)
                router.route("warm up", limit=10)
                ms = _median_ms(partial(router.route, "merge the release branch", limit=10))
                name = f"routing by {way}, best 10 of {count:,} tools"
                figures.append(Figure(name, ms, "ms CPU", bound, f"median of {RUNS}"))
            db.close()
    return tuple(figures)


def _suggestions() -> Figure:
    """What would bring 10,000 tools under a budget, and how they could be split."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_store(Path(folder) / "toolcrib.db")
        fill(db, server_count=100, tools_each=100, encoding="o200k_base")
        tools = load_catalog(db).tools
        usage = read_usage(db, time.time())
        db.close()

    def suggest() -> None:
        propose(tools, Budget(), usage)
        split(tools, Budget())

    ms = _median_ms(suggest)
    name = "moves and parts for 10,000 tools over budget"
    return Figure(name, ms, "ms CPU", 1000.0, f"median of {RUNS}")


def _window() -> tuple[Figure, Figure]:
    """CPU of opening the window on 2,000 tools, and of a filter key (window/opening.py)."""
    filled, keys = [], []
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_store(Path(folder) / "toolcrib.db")
        fill(db, server_count=40, tools_each=50, encoding="o200k_base")
        db.close()
        for _ in range(3):
            figures = _offscreen("tests.bench.window.opening", folder)
            filled.append(figures["filled"])
            keys += figures["keys"]
    worst = f"slowest of {len(keys)}: {max(keys):.0f} ms"
    return (
        Figure(
            "window: process start to the tree filled, 2,000 tools",
            statistics.median(filled),
            "s CPU",
            1.5,
            "median of 3, offscreen",
        ),
        Figure("window: one filter key, 2,000 tools", statistics.median(keys), "ms CPU", 20, worst),
    )


def _turns() -> tuple[Figure, ...]:
    """The longest turns of the window's event loop over 10,000 tools (window/turns.py)."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_store(Path(folder) / "toolcrib.db")
        fill(db, server_count=100, tools_each=100, encoding="o200k_base")
        db.close()
        longest = _offscreen("tests.bench.window.turns", folder)
    note = "longest turn of the event loop"
    return tuple(
        Figure(f"window: {name}, 10,000 tools", ms, "ms CPU", 100, note)
        for name, ms in longest.items()
    )


def _offscreen(module: str, home: str) -> Any:
    """What a module prints that measures the window over the store in that folder."""
    process = subprocess.run(
        [sys.executable, "-m", module, home],
        env={**os.environ, "TOOLCRIB_HOME": home, "QT_QPA_PLATFORM": "offscreen"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


def _median_ms(act: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        clock = CpuClock()
        act()
        times.append(clock.ms())
    return statistics.median(times)
