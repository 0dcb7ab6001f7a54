"""What several hosts take together: each with a gateway of its own, or behind one backend.

Linux: proportional set sizes from /proc/PID/smaps_rollup, so that shared pages count once.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import OFF_FILE, STATUS, STOP, Place
from app.gateway.sharing import SHARED
from app.gateway.stored_sharing import choose_sharing
from store.connection import open_store
from store.serving import server_rows
from tests.bench.report import COMPUTED, Column, Report, label, table

COUNTS = (1, 2, 3, 6)
OWN, BACKEND, ALL_SHARED = "a gateway each", "one backend", "one backend, all servers shared"
_PROFILE = "bench"
_ROOT = Path(__file__).parents[2]
_QUIET = 3.0  # seconds without a new process, after which all servers run
_STEADY = 0.01  # of the memory, that it may change by while nothing happens
_LIMIT = 120.0
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def run(config: Path, counts: Sequence[int] = COUNTS) -> Report:
    """Memory and processes by number of hosts, over the servers of an mcpServers file.

    The servers are started: the caller has agreed to that.
    """
    figures: dict[tuple[str, int], tuple[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        read = Path(folder) / "read"
        servers = _read(read, config)
        for way in (OWN, BACKEND, ALL_SHARED):
            for count in counts:
                home = Path(folder) / f"{way.replace(' ', '-')}-{count}"
                shutil.copytree(read, home, ignore=shutil.ignore_patterns("run"))
                _prepare(home, way)
                figures[way, count] = _measure(home, count)
    return _report(figures, counts, servers)


def _read(home: Path, config: Path) -> int:
    """Read the servers into a home of their own; how many were read."""
    environ = _environ(home)
    imported = ["import", str(config), "--profile", _PROFILE, "--scan", "--yes"]
    for words in (imported, ["profile", "set", "gateway.start_ahead=true", "--profile", _PROFILE]):
        command = [sys.executable, "-m", "ui.main", *words]
        subprocess.run(command, cwd=_ROOT, env=environ, check=True, stdout=subprocess.DEVNULL)
    db = open_store(home / "toolcrib.db")
    try:
        return len(server_rows(db))
    finally:
        db.close()


def _prepare(home: Path, way: str) -> None:
    if way == OWN:
        (home / OFF_FILE).touch()
    if way == ALL_SHARED:
        db = open_store(home / "toolcrib.db")
        try:
            for row in server_rows(db):
                choose_sharing(db, row.name, SHARED)
        finally:
            db.close()


def _measure(home: Path, count: int) -> tuple[int, float]:
    """Processes and megabytes of `count` hosts' gateways, the backend and all their servers."""
    with ExitStack() as stack:
        # after the hosts' ends: one that loses its backend starts the next one
        stack.callback(_stop, home)
        hosts = [stack.enter_context(_host(home)) for _ in range(count)]
        family = _settled(home, hosts)
        return len(family), sum(map(_megabytes, family))


def _stop(home: Path) -> None:
    """End the backend, if there is one, and wait until it writes no more."""
    place = Place(str(home))
    status = request(place, STATUS)
    if status is None:
        return
    backend = psutil.Process(status["pid"])
    request(place, STOP)
    backend.wait(30)


@contextmanager
def _host(home: Path) -> Iterator[psutil.Process]:
    """A shell in a host's place, whose child is the gateway: each host is another parent."""
    gateway = [sys.executable, "-m", "app.gateway.main", "--profile", _PROFILE]
    process = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; :', "host", *gateway],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environ(home),
        cwd=_ROOT,
    )
    try:
        _send(process, "initialize", _HELLO)
        _send(process, "tools/list", {})
        _send(process, "tools/call", {"name": "search_tools", "arguments": {"query": "a file"}})
        yield psutil.Process(process.pid)
    finally:
        if process.stdin and process.stdout:
            process.stdin.close()
            process.stdout.close()
        process.wait(30)


def _send(process: "subprocess.Popen[bytes]", method: str, params: Mapping[str, object]) -> None:
    """Ask and read on to the answer."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the gateway has no pipes")
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        if json.loads(line).get("id") == method:
            return
    raise RuntimeError(f"the gateway ended before it answered {method}")


def _settled(home: Path, hosts: Sequence[psutil.Process]) -> list[psutil.Process]:
    """All processes, once no further one has come and none has grown for a while."""
    family: list[psutil.Process] = []
    last = 0.0
    limit = time.monotonic() + _LIMIT
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < _QUIET and time.monotonic() < limit:
        time.sleep(0.25)
        now = _family(home, hosts)
        size = sum(map(_megabytes, now))
        if len(now) != len(family) or abs(size - last) > _STEADY * size:
            family, last, quiet_since = now, size, time.monotonic()
    return family


def _family(home: Path, hosts: Sequence[psutil.Process]) -> list[psutil.Process]:
    members = [child for host in hosts for child in host.children(recursive=True)]
    status = request(Place(str(home)), STATUS)
    if status is not None:
        backend = psutil.Process(status["pid"])
        members += [backend, *backend.children(recursive=True)]
    return members


def _megabytes(process: psutil.Process) -> float:
    try:
        usage = process.memory_full_info()  # only Linux counts what is shared in parts
        return float(getattr(usage, "pss", usage.uss)) / (1 << 20)
    except psutil.Error:
        return 0.0


def _environ(home: Path) -> dict[str, str]:
    return {**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(_ROOT)}


def _report(
    figures: Mapping[tuple[str, int], tuple[int, float]], counts: Sequence[int], servers: int
) -> Report:
    columns = [
        label("hosts"),
        label("way"),
        Column("processes"),
        Column("MB"),
        Column("share %", COMPUTED),
    ]
    rows = [
        (
            str(count),
            way,
            figures[way, count][0],
            round(figures[way, count][1]),
            round(100 * figures[way, count][1] / figures[OWN, count][1]),
        )
        for count in counts
        for way in (OWN, BACKEND, ALL_SHARED)
    ]
    notes = (
        f"{servers} servers, all started, one search each; proportional set size of every process"
        " of Toolcrib and of its servers. The share is that of a gateway each, in this run.",
    )
    return Report("bench memory", (table("Memory by number of hosts", columns, rows),), notes)
