"""A backend that is slow to start: its host is served alone, and moves to it when it is there."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from process_waits import ended, stopped, until

from app.gateway.backend.attach import START_SECONDS
from app.gateway.backend.move import Move
from app.gateway.backend.rendezvous import OFF_FILE, Place

pytestmark = pytest.mark.usefixtures("encoderless")

_STOPPING = """import os, signal, sys
if sys.orig_argv[-1] == "serve" and os.path.exists({mark!r}):
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def slow(tmp_path: Path, backends) -> Iterator[dict[str, str]]:
    """Backends of a host with this environment stand still before they do anything."""
    folder, mark = tmp_path / "slow", tmp_path / "slow" / "mark"
    folder.mkdir()
    mark.touch()
    (folder / "sitecustomize.py").write_text(_STOPPING.format(mark=str(mark)), encoding="utf-8")
    yield {"PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[4]}"}
    for process in backends():
        process.send_signal(signal.SIGCONT)


@pytest.fixture
def awake(slow, tmp_path: Path, backends) -> Callable[[], psutil.Process]:
    """Let the backend that stands still go on, and later ones start at once; its process."""

    def go_on() -> psutil.Process:
        (process,) = backends()
        until(lambda: stopped(process.pid))
        (tmp_path / "slow" / "mark").unlink()
        process.send_signal(signal.SIGCONT)
        return process

    return go_on


def connected(control, place: Place) -> list[str]:
    """The hosts of this process that the backend serves, by their own names."""
    status = control("status") if Path(place.descriptor).exists() else None
    sessions = status["sessions"] if status else []
    return [one["host"] for one in sessions if one["host_pid"] == os.getpid()]


def mark_of(slow: dict[str, str]) -> Path:
    """The file that makes backends stand still."""
    return Path(slow["PYTHONPATH"].split(os.pathsep)[0]) / "mark"


def starts(log) -> int:
    """How often the server was greeted so far."""
    return len([entry for entry in log("probe") if entry.get("method") == "initialize"])


def memory(process) -> float:
    return psutil.Process(process.pid).memory_info().rss / 1e6


def test_a_host_moves_to_a_backend_that_was_slow_to_start(
    adapter, slow, awake, backends, stocked, control, place
):
    stocked({"probe": "ok"})
    host = adapter(**slow)
    host.initialize()  # answered while the backend stands still
    tools = host.tools()
    alone = memory(host.process)
    awake()
    until(lambda: connected(control, place) == ["raw-host"], 60)
    assert memory(host.process) < 0.7 * alone  # it is an adapter now
    assert host.tools() == tools
    assert host.run("probe/echo", {"text": "a"})["content"][0]["text"] == "a"
    assert host.unsolicited == [] and host.notes == [] and len(backends()) == 1
    assert len(control("status")["sessions"]) == 1


def test_one_server_of_a_host_moves_and_is_started_once(
    adapter, slow, awake, stocked, control, place, log
):
    stocked({"probe": "ok"})
    before = starts(log)
    host = adapter("--server", "probe", **slow)
    host.initialize()
    assert "echo" in {tool["name"] for tool in host.tools()}
    awake()
    until(lambda: connected(control, place), 60)
    assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"
    assert starts(log) == before + 1
    assert host.close() < 20


def test_the_next_backend_hears_of_a_host_that_moved(
    adapter, slow, awake, backends, stocked, control, place
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    old = awake()
    until(lambda: connected(control, place), 60)
    old.send_signal(signal.SIGKILL)
    ended(old)
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert [process.pid for process in backends()] != [old.pid]
    until(lambda: connected(control, place) == ["raw-host"])
    assert host.unsolicited == []


def test_a_host_that_wants_nothing_waits_for_the_next_backend_however_long_it_takes(
    adapter, slow, awake, backends, stocked, control, place, log
):
    mark_of(slow).unlink()
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    host.call("echo", {"text": "a"})
    (old,) = backends()
    mark_of(slow).touch()
    old.send_signal(signal.SIGKILL)
    ended(old)
    until(lambda: [process for process in backends() if process.pid != old.pid])
    (new,) = [process for process in backends() if process.pid != old.pid]
    until(lambda: time.time() - new.create_time() > 1.5 * START_SECONDS)
    awake()
    until(lambda: connected(control, place) == ["raw-host"], 60)
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert host.unsolicited == [] and [process.pid for process in backends()] == [new.pid]


@pytest.mark.parametrize("asks", [True, False])
def test_a_host_that_asks_or_leaves_meanwhile_waits_no_longer_than_ever(
    asks, adapter, slow, backends, stocked
):
    mark_of(slow).unlink()
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    (old,) = backends()
    mark_of(slow).touch()
    old.send_signal(signal.SIGKILL)
    ended(old)
    until(lambda: any(process.pid != old.pid for process in backends()))
    if asks:  # it is served alone then
        assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert host.close(20) < 20


def test_a_host_that_has_called_a_tool_stays_where_its_servers_run(
    adapter, slow, awake, stocked, control, place, log
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"
    before = starts(log)
    awake()
    until(lambda: Path(place.descriptor).exists())
    other = adapter(**slow)
    other.initialize()
    until(lambda: len(control("status")["sessions"]) == 1)
    for _ in range(3):
        assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert starts(log) == before
    assert len(control("status")["sessions"]) == 1


def test_half_a_line_is_not_left_behind(adapter, slow, awake, stocked, control, place):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    host.send_raw(b'{"jsonrpc":"2.0","id":"half",')
    awake()
    until(lambda: Path(place.descriptor).exists())
    other = adapter(**slow)
    other.initialize()
    host.send_raw(b'"method":"ping"}\n')
    until(lambda: [m["id"] for m in host.unsolicited] == ["half"])
    until(lambda: len(control("status")["sessions"]) == 2, 60)


def test_a_backend_that_stands_still_holds_up_no_host_that_is_served_alone(
    adapter, slow, awake, stocked, control, place, home
):
    """It has a socket and does not answer: the host's next line is answered all the same."""
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", **slow)
    host.initialize()
    backend = awake()
    until(lambda: Path(place.descriptor).exists())
    backend.send_signal(signal.SIGSTOP)
    until(lambda: stopped(backend.pid))
    assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"
    backend.send_signal(signal.SIGCONT)


def test_a_host_moves_when_the_backend_is_switched_on(
    adapter, stocked, control, place, home, backends
):
    stocked({"probe": "ok"})
    (home / OFF_FILE).touch()
    host = adapter("--server", "probe")
    host.initialize()
    assert backends() == []
    (home / OFF_FILE).unlink()
    other = adapter("--server", "probe")
    other.initialize()
    until(lambda: len(control("status")["sessions"]) == 2, 60)
    assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"


@pytest.mark.parametrize(
    ("lines", "moves"),
    [
        ([b'{"id":1,"method":"initialize"}', b'{"method":"notifications/initialized"}'], True),
        ([b'{"id":1,"method":"tools/list"}', b'{"id":2,"method":"ping"}', b"\n"], True),
        ([b'{"id":1,"method":"server/discover"}'], True),
        ([b'{"id":1,"method":"logging/setLevel"}'] * 2, True),
        ([b'{"id":1,"method":"tools/call","params":{"method":"ping"}}'], False),
        ([b'{"id":1,"method":"resources/subscribe"}'], False),
        ([b'{"id":1,"method":"subscriptions/listen"}'], False),
        ([b'[{"id":1,"method":"ping"}]'], False),
        ([b'{"id":"x","result":{}}'], False),
        ([b'{"id":1,"method":"initialize","params":{"x":"' + b"y" * 9_000 + b'"}}'], False),
    ],
)
def test_what_keeps_a_host_where_it_is(place, lines, moves):
    move = Move(place, ())
    for line in lines:
        move._note(line)
    assert move._is_fresh is moves
