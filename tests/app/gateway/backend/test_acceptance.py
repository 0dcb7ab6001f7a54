"""The backend under load and misfortune: no answer lost or doubled, no process left, no growth."""

import contextlib
import os
import signal
import socket
import threading
import time
from pathlib import Path

import psutil
import pytest

from app.gateway.sharing import SHARED
from store import servers, sharing
from store.connection import open_store, transaction

pytestmark = pytest.mark.usefixtures("encoderless")
SESSIONS = 10
CALLS = int(os.environ.get("TOOLCRIB_ACCEPTANCE_CALLS", "300"))  # a session; 5000 by hand
WARM = 50  # calls before the memory is measured first
_GROWTH = 6.0  # MB that a process may take more at the end, whatever the number of calls


def text(result) -> str:
    return result["content"][0]["text"]


def share(home: Path, name: str) -> None:
    db = open_store(home / "toolcrib.db")
    with transaction(db):
        sharing.choose(db, servers.by_name(db, name).id, SHARED)
    db.close()


def megabytes(process: psutil.Process) -> float:
    return process.memory_info().rss / (1 << 20)


def runs(pid: int) -> bool:
    """Whether it does anything; a test that adopts orphans need not have collected it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def gone(pids: list[int], seconds: float = 15.0) -> bool:
    limit = time.monotonic() + seconds
    while any(runs(pid) for pid in pids):
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("way", ["own", "shared"])
def test_ten_sessions_get_each_answer_once_and_memory_stays_flat(
    adapter, backends, stocked, home, way
):
    stocked({"probe": "ok"})
    if way == "shared":
        share(home, "probe")
    hosts = [adapter("--server", "probe") for _ in range(SESSIONS)]
    for host in hosts:
        host.initialize()
    wrong: list[str] = []

    def calls(number: int, count: int) -> None:
        for i in range(count):
            payload = f"{number}-{i}"
            if text(hosts[number].call("echo", {"text": payload})) != payload:
                wrong.append(payload)

    def all_call(count: int) -> None:
        threads = [threading.Thread(target=calls, args=(n, count)) for n in range(SESSIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 + count / 5)
        assert not any(thread.is_alive() for thread in threads), "an answer never came"

    all_call(WARM)
    (backend,) = backends()
    before = [megabytes(backend), *(megabytes(psutil.Process(h.process.pid)) for h in hosts)]
    all_call(CALLS)
    after = [megabytes(backend), *(megabytes(psutil.Process(h.process.pid)) for h in hosts)]
    assert wrong == []
    assert [host.unsolicited for host in hosts] == [[]] * SESSIONS, "an answer came twice"
    assert max(b - a for a, b in zip(before, after, strict=True)) < _GROWTH


def test_a_suspended_backend_answers_when_it_goes_on(adapter, backends, stocked):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    host.call("echo", {"text": "a"})
    (backend,) = backends()
    backend.send_signal(signal.SIGSTOP)
    try:
        number = host.ask("tools/call", {"name": "echo", "arguments": {"text": "b"}})
        late = adapter("--server", "probe")
        hello = late.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    finally:
        backend.send_signal(signal.SIGCONT)
    assert text(host.wait(number)["result"]) == "b"
    assert late.wait(hello)["result"]["protocolVersion"] == "2025-11-25"
    assert host.unsolicited == [] and len(backends()) == 1


@pytest.mark.parametrize("stage", ["started", "greeted", "called", "calling"])
def test_a_backend_killed_at_any_stage_leaves_a_host_that_is_served(
    stage, adapter, backends, stocked, log
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    waiting = 0
    if stage != "started":
        host.initialize()
    if stage in ("called", "calling"):
        host.call("echo", {"text": "a"})
    if stage == "calling":
        waiting = host.ask("tools/call", {"name": "hang", "arguments": {}})
        host.until(lambda: any("hang" in str(entry) for entry in log("probe")))
    host.until(backends)
    family = [p.pid for b in backends() for p in b.children(recursive=True)]
    for backend in backends():
        backend.kill()
        backend.wait(10)
    if stage == "started":
        host.initialize()
    assert text(host.call("echo", {"text": "b"})) == "b"
    assert not waiting or "error" in host.wait(waiting)
    assert host.unsolicited == [] and gone(family)


def test_a_host_that_is_killed_takes_only_its_own_servers_with_it(adapter, stocked):
    stocked({"probe": "ok"})
    one, two = (adapter("--server", "probe") for _ in range(2))
    for host in (one, two):
        host.initialize()
    first, second = (int(text(host.call("pid"))) for host in (one, two))
    one.process.kill()
    assert gone([first])
    assert int(text(two.call("pid"))) == second


def test_a_locked_store_stops_no_session(adapter, backends, stocked, home):
    stocked({"probe": "ok"})
    db = open_store(home / "toolcrib.db")
    db.execute("BEGIN IMMEDIATE")
    try:
        host = adapter("--server", "probe")
        host.initialize()
        assert text(host.call("echo", {"text": "a"})) == "a"
    finally:
        db.execute("ROLLBACK")
        db.close()
    assert len(backends()) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's files")
def test_another_users_socket_in_the_way_is_not_talked_to(adapter, stocked, place):
    stocked({"probe": "ok"})
    folder = Path(place.folder)
    folder.mkdir(parents=True, mode=0o700)
    heard: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place.socket)
    listener.listen()
    listener.settimeout(0.2)
    Path(place.descriptor).write_text("toolcrib/1 0123 token\n")
    for path in (folder, Path(place.socket), Path(place.descriptor)):
        os.chown(path, 65534, 65534)

    def overhear() -> None:
        with contextlib.suppress(OSError):
            link, _ = listener.accept()
            with link:
                heard.append(link.recv(64))

    host = adapter("--server", "probe")
    host.initialize()
    assert text(host.call("echo", {"text": "a"})) == "a"
    overhear()
    listener.close()
    assert heard == []
