"""Servers that nobody uses are ended, where the user wants that, and start again by themselves."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.gateway.backend.shared_server import SharedServer, SharedUpstream
from app.mcp.protocol import CAPABILITIES_KEY, CLIENT_INFO_KEY, LISTEN, MODERN, VERSION_KEY
from app.mcp.requests import OwnRequest, ServerRequest
from app.mcp.session import KNOWN, STARTED, STARTING, Upstream
from app.mcp.stdio import StdioChannel
from app.system.processes import prepare

PROBE = Path(__file__).parents[2] / "fakes" / "probe_upstream.py"
MODERN_PROBE = PROBE.with_name("modern_upstream.py")
HOUR = 3600.0
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}


class Listener:
    """A host that wants nothing of its own."""

    def hello(self) -> dict[str, Any]:
        return HELLO

    def stateless(self) -> bool:
        return False

    def envelope(self) -> dict[str, Any]:
        return {}

    def opening_requests(self, _upstream: Upstream) -> list[Any]:
        return []

    def ready(self, _upstream: Upstream) -> None:
        pass

    def on_request(self, _upstream: Upstream, _request: ServerRequest) -> None:
        pass

    def on_notification(self, _upstream: Upstream, _line: bytes, _message: dict[str, Any]) -> None:
        pass

    def down(self, _upstream: Upstream, reason: str, _printed: str) -> None:
        raise AssertionError(reason)


class Clock:
    """Time that only a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def launch() -> StdioChannel:
    return StdioChannel(prepare(sys.executable, [str(PROBE)], env={"PROBE_MODE": "ok"}))


@pytest.fixture
def upstream(clock: Clock) -> Iterator[Upstream]:
    server = Upstream("probe", launch, Listener(), clock=clock)
    yield server
    server.close(2.0)


def send(upstream: Upstream, tool: str, **arguments: Any) -> Callable[[], dict[str, Any]]:
    """Call a tool; what is returned waits for the answer."""
    answers: list[dict[str, Any]] = []
    done = threading.Event()

    def keep(answer: dict[str, Any]) -> None:
        answers.append(answer)
        done.set()

    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params}
    failed = lambda reason: keep({"failed": reason})  # noqa: E731
    upstream.request(OwnRequest(message, answered=keep, failed=failed))

    def wait() -> dict[str, Any]:
        assert done.wait(20)
        limit = time.monotonic() + 20
        while upstream.state == STARTING:  # an answer may be faster than the end of the start
            assert time.monotonic() < limit
            time.sleep(0.01)
        return answers[0]

    return wait


def text(answer: dict[str, Any]) -> str:
    return answer["result"]["content"][0]["text"]


def gone(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(10)
    return not psutil.pid_exists(pid)


def test_an_idle_server_ends_and_the_next_call_starts_it(upstream, clock):
    old = int(text(send(upstream, "pid")()))
    clock.now += HOUR - 1
    upstream.rest(HOUR)
    assert upstream.state == STARTED
    clock.now += 2
    upstream.rest(HOUR)
    assert upstream.state == KNOWN and gone(old)
    assert int(text(send(upstream, "pid")())) != old
    assert upstream.calls == 2


def test_a_server_with_a_call_under_way_goes_on(upstream, clock):
    wait = send(upstream, "sleep", ms=300)
    limit = time.monotonic() + 20
    while upstream.state != STARTED:
        assert time.monotonic() < limit
        time.sleep(0.01)
    clock.now += HOUR
    upstream.rest(1.0)
    assert upstream.state == STARTED
    assert text(wait()) == "slept"


def test_a_server_whose_task_goes_on_goes_on(upstream, clock):
    send(upstream, "pid")()
    connection = upstream._connection
    assert connection is not None
    connection._read(b'{"jsonrpc":"2.0","id":99,"result":{"task":{"taskId":"1"}}}')
    clock.now += HOUR
    upstream.rest(1.0)
    assert upstream.state == KNOWN, "an answer to nothing names no task of ours"
    assert send(upstream, "task")()["result"]["task"]["taskId"] == "1"
    clock.now += HOUR
    upstream.rest(1.0)
    assert upstream.state == STARTED


def test_a_shared_server_ends_only_when_every_session_could_do_without_it(clock):
    server = SharedServer("probe", launch, modern=False, clock=clock)
    one, two = (SharedUpstream(server, "probe", Listener()) for _ in range(2))
    try:
        send(one, "pid")()
        clock.now += HOUR
        one.rest(60.0)
        assert one.state == STARTED, "the other session never lets it go"
        two.rest(60.0)
        assert two.state == KNOWN
    finally:
        server.close(2.0)


def test_a_watched_shared_server_goes_on(clock):
    server = SharedServer("probe", launch, modern=False, clock=clock)
    one = SharedUpstream(server, "probe", Listener())
    try:
        send(one, "pid")()
        one.subscribed.add("probe://doc/1")
        clock.now += HOUR
        one.rest(60.0)
        assert one.state == STARTED
    finally:
        server.close(2.0)


LATE = {
    "failed": "The server was changed or removed meanwhile; probe was not called. Ask again.",
}


def test_a_server_that_was_let_go_is_not_started_by_a_late_call(upstream):
    assert upstream.release()
    assert send(upstream, "pid")() == LATE and upstream.state != STARTING
    upstream.start()
    assert upstream.pids() == ()


def test_a_session_that_let_go_of_a_shared_server_calls_it_no_more(clock):
    server = SharedServer("probe", launch, modern=False, clock=clock)
    first, second = (SharedUpstream(server, "probe", Listener()) for _ in range(2))
    try:
        pid = text(send(first, "pid")())
        assert first.release()
        assert send(first, "pid")() == LATE
        assert text(send(second, "pid")()) == pid and server.upstream.calls == 2
    finally:
        server.close(2.0)


class Stateless(Listener):
    """A host that speaks the stateless revision."""

    def envelope(self) -> dict[str, Any]:
        return {VERSION_KEY: MODERN, CLIENT_INFO_KEY: {"name": "t"}, CAPABILITIES_KEY: {}}


def test_a_stream_of_news_does_not_keep_a_session_at_a_shared_server(clock):
    server = SharedServer(
        "modern", lambda: StdioChannel(prepare(sys.executable, [str(MODERN_PROBE)])), modern=True,
        clock=clock,
    )  # fmt: skip
    one = SharedUpstream(server, "modern", Stateless())
    try:
        assert MODERN in text(send(one, "show_meta")())
        news = {"notifications": {"toolsListChanged": True}}
        one.request(OwnRequest({"jsonrpc": "2.0", "id": 0, "method": LISTEN, "params": news}))
        assert MODERN in text(send(one, "show_meta")())  # the stream is open by now
        assert one.release() and server.members == 0
    finally:
        server.close(2.0)
