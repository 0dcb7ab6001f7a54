"""Servers behind a URL: the official SDK's servers, reached through a gateway's upstream."""

import socket
import threading
import time
from functools import partial
from pathlib import Path

import fake_web
import pytest
from web_process import serving

from app.core.paths import Paths
from app.hosts.launch import LaunchSpec
from app.mcp import jsonrpc
from app.mcp.http import RemoteChannel
from app.mcp.protocol import CAPABILITIES_KEY, CLIENT_INFO_KEY, MODERN, VERSION_KEY
from app.mcp.requests import OwnRequest
from app.mcp.session import Upstream
from app.secrets.secret_store import SecretStore
from app.signin.auth import StoredAuth

SERVER = Path(__file__).parents[3] / "tests" / "fakes" / "sdk_web_server.py"


class Listener:
    """The host's side, in memory."""

    def __init__(self):
        self.problems = []

    def hello(self):
        info = {"name": "t", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}

    def stateless(self):
        return False

    def envelope(self):
        info = {"name": "t", "version": "1"}
        return {VERSION_KEY: MODERN, CLIENT_INFO_KEY: info, CAPABILITIES_KEY: {}}

    def opening_requests(self, upstream):
        return []

    def ready(self, upstream):
        pass

    def on_request(self, upstream, request):
        pass

    def on_notification(self, upstream, line, message):
        pass

    def down(self, upstream, reason, printed):
        self.problems.append(reason)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module", params=["streamable-http", "sse"])
def web(request):
    """(transport, URL) of a running server."""
    kind, page = ("sse", "sse") if request.param == "sse" else ("http", "mcp")
    with serving(SERVER, request.param) as port:
        yield kind, f"http://127.0.0.1:{port}/{page}"


@pytest.fixture
def upstream(tmp_path):
    """upstream(url, ...) connects lazily; closed at the end."""
    made = []

    def make(transport, url, headers=None, *, modern=False):
        launch = LaunchSpec(transport, url=url, headers=headers or {})
        listener = Listener()
        auth = StoredAuth(SecretStore.open(Paths(tmp_path, tmp_path)), "web", url)
        launching = partial(RemoteChannel, launch, (), auth=auth)
        one = Upstream("web", launching, listener, modern=modern)
        made.append(one)
        return one, listener

    yield make
    for one in made:
        one.close(2.0)


def ask(upstream, method, params, seconds=30):
    """The answer to one request, or the reason why there is none."""
    found, done = [], threading.Event()
    message = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}

    def took(value):
        found.append(value)
        done.set()

    upstream.request(OwnRequest(message, answered=took, failed=took))
    assert done.wait(seconds)
    return found[0]


def test_calls_headers_and_progress_pass(web, upstream, monkeypatch):
    one, _ = upstream(*web, {"Authorization": "Bearer secret-value"})
    listed = ask(one, "tools/list", {})["result"]["tools"]
    assert {tool["name"] for tool in listed} == {"add", "headers", "steps"}
    called = ask(one, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert called["result"]["structuredContent"] == {"result": 3}
    said = ask(one, "tools/call", {"name": "headers", "arguments": {}})
    assert said["result"]["content"][0]["text"] == "Bearer secret-value"
    meta = {"progressToken": "p"}
    steps = []
    monkeypatch.setattr(
        OwnRequest, "progressed", lambda _own, _line, m: steps.append(m["params"]["progress"])
    )
    ask(one, "tools/call", {"name": "steps", "arguments": {}, "_meta": meta})
    assert steps == [1, 2] and one.version == "2025-11-25"


def test_the_stateless_revision_over_http(web, upstream):
    if web[0] == "sse":
        pytest.skip("SSE ended before the stateless revision")
    one, _ = upstream(*web, modern=True)
    called = ask(one, "tools/call", {"name": "add", "arguments": {"a": 2, "b": 2}})
    assert called["result"]["resultType"] == "complete" and one.modern


def test_a_wrong_address_is_one_clear_error(web, upstream):
    one, _ = upstream(web[0], web[1] + "/nothing-here")
    reason = ask(one, "tools/list", {})
    assert reason.startswith("web could not be started.") and "404" in reason


def test_a_server_that_is_not_there_is_one_clear_error(upstream):
    one, listener = upstream("http", f"http://127.0.0.1:{free_port()}/mcp")
    reason = ask(one, "tools/list", {})
    assert "It could not be reached: " in reason
    assert ". Check its URL, and that the server runs." in reason and ".." not in reason
    assert listener.problems and "tried again" in ask(one, "tools/list", {})


@pytest.mark.parametrize("mode", ["json", "sse"])
def test_a_message_that_is_refused_later_is_answered_and_the_server_goes_on(upstream, mode):
    with fake_web.serve(mode) as fake:
        kind, url = ("sse", fake.url) if mode == "sse" else ("http", fake.url)
        one, _ = upstream(kind, url)
        assert "result" in ask(one, "tools/list", {})
        fake.mode = "500"
        refused = ask(one, "tools/list", {})
        assert "error" in refused
        assert mode == "json" or "status 500" in refused["error"]["message"]
        fake.mode = mode
        assert "result" in ask(one, "tools/list", {})


@pytest.fixture
def older(upstream):
    """(server, upstream, listener): an older server that has answered once."""
    with fake_web.serve("sse") as fake:
        one, listener = upstream("sse", fake.url)
        assert "result" in ask(one, "tools/list", {})
        yield fake, one, listener


CALL = {"name": "web_tool", "arguments": {}}


def test_a_message_that_may_not_have_arrived_is_answered_and_the_server_goes_on(older):
    fake, one, _ = older
    fake.mode = "drop"
    lost = ask(one, "tools/call", CALL)["result"]
    assert lost["isError"] and "may have run" in lost["content"][0]["text"]
    fake.mode = "sse"
    assert "result" in ask(one, "tools/list", {})
    assert fake.asked.count("initialize") == 1


def test_the_answer_counts_where_only_its_confirmation_was_lost(older):
    fake, one, _ = older
    fake.mode = "late"
    assert ask(one, "tools/list", {})["result"]["tools"]


def test_a_lost_reply_is_no_answer_to_a_call_of_ours_and_opens_a_new_session(older):
    fake, one, listener = older
    fake.mode = "silent"
    waiting, done = [], threading.Event()

    def took(value):
        waiting.append(value)
        done.set()

    message = {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": CALL}
    one.request(OwnRequest(message, answered=took, failed=took))
    number = fake.unanswered.get(timeout=20)
    fake.mode = "drop"
    one.notify(jsonrpc.result(number, {"roots": []}))
    assert done.wait(20)
    assert "stopped while it worked" in waiting[0] and "could not be reached" in waiting[0]
    assert listener.problems
    fake.mode = "sse"
    assert "result" in ask(one, "tools/list", {})


def test_an_older_server_that_hangs_up_at_once_is_one_clear_error(upstream):
    with fake_web.serve("drop") as fake:
        one, _ = upstream("sse", fake.url)
        reason = ask(one, "tools/list", {})
        assert reason.count("could not be reached") == 1 and "refused" not in reason


def test_a_session_that_an_older_server_forgot_is_opened_anew(older):
    fake, one, _ = older
    fake.mode = "404"
    assert "404" in ask(one, "tools/list", {})["error"]["message"]
    fake.mode = "sse"
    until = time.monotonic() + 20
    found = ask(one, "tools/list", {})
    while "result" not in found and time.monotonic() < until:  # the first is still ending
        found = ask(one, "tools/list", {})
    assert "result" in found and fake.asked.count("initialize") == 2


def test_an_older_server_that_sends_elsewhere_is_answered_for(older):
    fake, one, _ = older
    fake.mode = "302"
    assert "302" in ask(one, "tools/list", {})["error"]["message"]
