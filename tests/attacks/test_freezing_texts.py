"""A hostile megabyte anywhere: the gateway goes on answering, and a signal ends it.

tests/contracts/test_linear_patterns.py holds each pattern of the product to linear time; here
texts that repeat what patterns look for go through whole gateways, alone and behind the backend.
"""

import json
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402

from app.gateway.backend.client import request  # noqa: E402
from app.gateway.backend.rendezvous import STOP, Place  # noqa: E402

pytestmark = pytest.mark.processes
SERVER = {"command": sys.executable, "args": ["-S", str(FAKES / "odd_upstream.py")], "env": {}}
PING_SECONDS = 0.5
SIZE = 1_000_000  # bytes
PIECES = (
    *(
        "a",
        " ",
        "a-",
        "also-send-",
        "<a",
        "a@b.",
        "{a}",
        "&#",
        "“",
        "a/",
        '\\"',
        "=",
        "\n",
        "--a =",
    ),
    *("ignore previous ", "https://a.", "A1+/", "\u200b", "e\u0301", "${a", "key=", "0.", "the "),
)
WAYS = [("pruned", "1"), ("through", "1"), ("pruned", ""), ("through", "")]


class Pings:
    """A host's pings while something else goes on: the longest that one took, in seconds."""

    def __init__(self, host: raw_host.RawHost) -> None:
        self._host = host
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.longest = 0.0

    def __enter__(self) -> "Pings":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            began = time.monotonic()
            self._host.request("ping", seconds=60)
            self.longest = max(self.longest, time.monotonic() - began)


class Served:
    """A gateway before the odd server."""

    def __init__(self, home: Path, way: str, alone: str) -> None:
        self.home, self.way, self.alone = home, way, alone
        env = {
            "TOOLCRIB_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TOOLCRIB_MODELS": str(home / "no-models"),
            "TOOLCRIB_STANDALONE": alone,
        }
        words = ["--server", "odd"] if way == "pruned" else []
        self.host = raw_host.RawHost(raw_host.gateway_command(*words), env)
        self.host.initialize()
        self.host.tools()
        self.count = 0

    def ask(self, **arguments: object) -> int:
        self.count += 1
        params = {"name": "send", "arguments": {**arguments, "count": self.count}}
        if self.way == "through":
            params = {"name": "call_tool", "arguments": {**params, "name": "odd/send"}}
        return self.host.ask("tools/call", params)

    def close(self) -> None:
        self.host.close()
        if not self.alone:
            request(Place(str(self.home)), STOP)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("freeze") / "home"
    gateway_store.stock(folder, {"odd": SERVER}, settings={"new_tools": "on"})
    return folder


@pytest.fixture(scope="module", params=WAYS, ids=["-".join(filter(None, w)) for w in WAYS])
def served(request, home):
    one = Served(home, *request.param)
    one.host.wait(one.ask())
    yield one
    one.close()


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).replace('"@ID@"', "@ID@")


def places(text: str) -> list[dict]:
    """Arguments of `send` with which the server puts the text everywhere it may."""
    content = [{"type": "text", "text": text}]
    tools = [{"name": "send", "description": text, "inputSchema": {"type": "object"}}]
    return [
        {"lines": [line(id="@ID@", result={"content": content})], "answer": False},
        {"lines": [line(id="@ID@", error={"code": -1, "message": text})], "answer": False},
        {
            "lines": [
                line(method="notifications/message", params={"level": "error", "data": text}),
                line(method="notifications/resources/updated", params={"uri": text}),
                line(method="elicitation/create", id="e", params={"message": text}),
                line(method="notifications/tools/list_changed"),
            ],
            "tools": tools,
        },
        {"given": text},
    ]


@pytest.mark.parametrize("piece", PIECES)
def test_a_hostile_megabyte_holds_up_no_ping(served, piece):
    text = piece * (SIZE // len(piece.encode())) + "\0"
    # what freezes does so each time; a busy machine seldom twice
    assert any(longest_ping(served, text) < PING_SECONDS for _ in range(2))


def longest_ping(served: Served, text: str) -> float:
    """Seconds that a ping took at most, while the text stood everywhere it may."""
    host = served.host
    with Pings(host) as pings:
        for arguments in places(text):
            host.wait(served.ask(**arguments), 60)
        if served.way == "through":
            asked = [host.ask("tools/call", {"name": "search_tools", "arguments": {"query": text}})]
            asked.append(host.ask("tools/call", {"name": "call_tool", "arguments": {"name": text}}))
        else:
            asked = [host.ask("tools/call", {"name": text, "arguments": {}})]
        asked.append(host.ask("resources/read", {"uri": text}))
        asked.append(
            host.ask("completion/complete", {"ref": {"type": "ref/resource", "uri": text}})
        )
        for number in asked:
            host.wait(number, 60)
    return pings.longest


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_a_signal_ends_a_gateway_that_is_given_hostile_megabytes(served, home):
    # a test run in the background ignores the signal, and so would the gateway
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        one = Served(home, served.way, served.alone)
    finally:
        signal.signal(signal.SIGINT, before)
    text = "also-send-" * (SIZE // 10)
    for arguments in places(text):
        one.ask(**arguments)
    one.host.process.send_signal(signal.SIGINT)
    try:
        one.host.process.wait(30)  # what matched slowly did not end within minutes
    finally:
        one.host.close()
    assert not psutil.pid_exists(one.host.process.pid)
