"""`bench hook`: what a hook's command costs a prompt, with a warm backend, a cold one, and none."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

from app.encoder.onnx import Encoder
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import OFF_FILE, STATUS
from app.tokens.counters import counter
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.testbed import read_testbed
from tests.bench.hooks.live import Connection, Home, Ran, home_with
from tests.bench.report import Cell, Column, Report, label, table

RUNS = 60
COLD_RUNS = 15  # each starts a backend
MOST_CPU = 30.0  # ms, the issue's
_TALK = "thanks!"


@dataclass(slots=True)
class _Case:
    """The runs of one case."""

    name: str
    runs: list[Ran]
    backend_ms: float | None = None  # of its CPU for each, in the mean

    def row(self) -> tuple[Cell, ...]:
        cpu = sorted(run.cpu_ms for run in self.runs)
        wall = sorted(run.wall_ms for run in self.runs)
        spoke = 100 * sum(bool(run.text) for run in self.runs) / len(self.runs)
        figures = (_at(cpu, 0.5), _at(cpu, 0.95), _at(wall, 0.5), _at(wall, 0.95))
        return (self.name, len(self.runs), spoke, *figures, self.backend_ms)


def run(
    encoder: Encoder,
    *,
    cache: Path | None = None,
    runs: int = RUNS,
    cold_runs: int = COLD_RUNS,
) -> Report:
    """Wall and CPU time of the command that a host runs, over the testbed's 120 tools."""
    cached = CachedEncoder(encoder, cache)
    testbed = read_testbed(counter("cl100k_base")).as_set
    prompts = [query.query for query in testbed.queries]
    models = encoder.files.onnx.parents[1]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder,
            home_with(Path(folder), testbed, cached, models) as home,
        ):
            cases = [
                _measured("the interpreter alone", runs, _alone(home)),
                *_warm(home, prompts, runs),
                _measured("cold backend", cold_runs, _cold(home, prompts)),
                _measured("no backend", runs, _off(home, prompts)),
            ]
    finally:
        cached.close()
    columns = [
        label("case"), Column("runs"), Column("speaks %"), Column("CPU ms p50"),
        Column("CPU ms p95"), Column("wall ms p50"), Column("wall ms p95"),
        Column("backend's CPU ms"),
    ]  # fmt: skip
    title = f"A hook at each prompt, {len(testbed.tools)} tools"
    return Report("hook", (table(title, columns, [case.row() for case in cases]),), _notes())


def _warm(home: Home, prompts: list[str], runs: int) -> list[_Case]:
    with Connection(home):
        home.wait_for_hook(prompts)
        plain = _hook(home, prompts, home.hook_command(plain=True))
        return [
            _measured("warm backend", runs, _hook(home, prompts), home),
            _measured("warm backend, small talk", runs, _hook(home, [_TALK]), home),
            _measured("warm backend, started as a program", runs, plain, home),
        ]


def _measured(name: str, runs: int, once: Callable[[], Ran], home: Home | None = None) -> _Case:
    backend = _backend(home) if home is not None else None
    before = _cpu(backend) if backend else 0.0
    case = _Case(name, [once() for _ in range(runs)])
    if backend:
        case.backend_ms = 1000 * (_cpu(backend) - before) / runs
    return case


def _backend(home: Home) -> psutil.Process:
    return psutil.Process(int((request(home.place, STATUS) or {})["pid"]))


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


_conversations: Iterator[int] = count()


def _hook(home: Home, prompts: list[str], command: list[str] | None = None) -> Callable[[], Ran]:
    """Each prompt in turn, each in a conversation of its own."""
    words = command or home.hook_command()

    def once() -> Ran:
        number = next(_conversations)
        given = {"prompt": prompts[number % len(prompts)], "session_id": f"cost {number}"}
        return home.run(words, given)

    return once


def _alone(home: Home) -> Callable[[], Ran]:
    return lambda: home.run([sys.executable, "-I", "-S", "-c", "pass"], {})


def _cold(home: Home, prompts: list[str]) -> Callable[[], Ran]:
    """The first prompt after the backend's end, which starts the next one."""
    hook = _hook(home, prompts)

    def once() -> Ran:
        home.stop()
        made = hook()
        home.wait_for_backend()
        return made

    return once


def _off(home: Home, prompts: list[str]) -> Callable[[], Ran]:
    home_off = home.folder / OFF_FILE
    hook = _hook(home, prompts)

    def once() -> Ran:
        if not home_off.exists():
            home.stop()
            home_off.touch()
        return hook()

    return once


def _at(ordered: list[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def _notes() -> tuple[str, ...]:
    return (
        "The command that Toolcrib writes into hosts' files, run as a host runs it; user and system"
        " time of its process (wait4), from its start to its end. The backend has 100 ms to answer,"
        f" else the hook is silent. Issue's bound: {MOST_CPU:.0f} ms of CPU.",
        "Warm: a connected host, the encoder loaded, the testbed's queries as prompts. Cold: no"
        " backend runs; the hook starts one for the next prompt and adds nothing. None: it is off.",
        "Started as a program: `toolcrib-gateway hook`, as packaged builds and other environments"
        " have it. Asking the connected gateway itself (Claude Code, Codex) starts no process.",
    )
