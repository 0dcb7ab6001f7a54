"""The HTTP endpoint of the backend: both revisions, over real connections, and its switch."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import gateway_store
import psutil
import pytest
import raw_host
from backend_processes import end_backends
from web_client import WebClient, free_port

from app.gateway.backend.rendezvous import STANDALONE_VARIABLE
from tests.fakes.verbs import Verbs

ROOT = Path(__file__).parents[4]
PROBE = ROOT / "tests" / "fakes" / "probe_upstream.py"
pytestmark = pytest.mark.usefixtures("encoderless")
Toolcrib = Callable[..., subprocess.CompletedProcess[str]]
Client = Callable[..., WebClient]
Control = Callable[[str], dict[str, Any]]


def probe(name: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PROBE)], "env": {"PROBE_NAME": name}}


@pytest.fixture
def toolcrib(
    home: Path,
    backends: Callable[[], list[psutil.Process]],
    monkeypatch: pytest.MonkeyPatch,
    verbs: Verbs,
) -> Toolcrib:
    """toolcrib("backend", "http", "on") over a store with two servers and two profiles."""
    monkeypatch.delenv(STANDALONE_VARIABLE, raising=False)
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "2")
    servers = {"alpha": probe("alpha"), "beta": probe("beta")}
    gateway_store.stock(home, servers, "work")
    gateway_store.stock(home, servers)
    assert backends() == []

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = verbs.run_text(
            *words, env={**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
        )
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def client(toolcrib: Toolcrib) -> Client:
    """client("/mcp/default", name="x"): a client of an endpoint that is switched on."""
    port = free_port()
    toolcrib("backend", "http", "on", "--port", str(port))

    def make(path: str = "/mcp/default", name: str = "web", profile: str = "") -> WebClient:
        profile = profile or path.split("/")[2]
        token = toolcrib("backend", "http", "token", "--profile", profile).stdout.strip()
        return WebClient(port, token, path, name)

    return make


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


def state(toolcrib: Toolcrib) -> dict[str, Any]:
    return json.loads(toolcrib("backend", "http", "status", "--json").stdout)


def lives_on(control: Control, seconds: int) -> None:
    """Wait until the backend, which looks at its settings each second, is older by so much."""

    def age() -> int:
        return int(control("status")["seconds"])

    began = age()
    until(lambda: age() >= began + seconds)


# ---- 2025-11-25


def test_a_session_searches_and_calls_through_the_menu(client: Client) -> None:
    web = client()
    answer = web.initialize()
    assert answer.last["result"]["serverInfo"]["name"] == "toolcrib"
    assert answer.last["result"]["protocolVersion"] == "2025-11-25"
    names = [tool["name"] for tool in web.request("tools/list").last["result"]["tools"]]
    assert names == ["search_tools", "call_tool"]
    call = {"name": "alpha/echo", "arguments": {"text": "hi"}}
    assert web.call("call_tool", call, number="text id").last["id"] == "text id"
    assert web.call("call_tool", call).text == "hi"


def test_one_server_is_served_pruned_under_its_own_url(client: Client) -> None:
    web = client("/mcp/default/alpha")
    web.initialize()
    assert "echo" in [t["name"] for t in web.request("tools/list").last["result"]["tools"]]
    assert web.call("echo", {"text": "x"}).headers["content-type"] == "application/json"
    missing = client("/mcp/default/nobody")
    missing.initialize()
    assert "no server called nobody" in missing.call("echo").text


def test_what_belongs_to_a_call_comes_on_its_own_stream(client: Client) -> None:
    web = client("/mcp/default/alpha")
    web.initialize()
    params = {"name": "progress", "_meta": {"progressToken": "mine"}}
    answer = web.request("tools/call", params)
    assert answer.headers["content-type"] == "text/event-stream"
    assert [m["params"]["progressToken"] for m in answer.messages[:-1]] == ["mine"] * 3
    assert answer.text == "progressed"
    logged = web.call("log")
    assert [m["method"] for m in logged.messages[:-1]] == ["notifications/message"]
    alone = web.send(
        "POST",
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"log"}}',
        Accept="application/json",
    )
    assert alone.text == "logged" and len(alone.messages) == 1


def test_a_servers_question_reaches_the_client_and_its_answer_the_server(client: Client) -> None:
    web = client("/mcp/default/alpha")
    web.initialize({"elicitation": {}})
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "elicit"}}
    with web.stream("POST", call) as messages:
        question = next(messages)
        assert question["method"] == "elicitation/create"
        given = {"action": "accept", "content": {"name": "Ada"}}
        answered = web.post({"jsonrpc": "2.0", "id": question["id"], "result": given})
        assert answered.status == 202 and not answered.body
        assert "Ada" in next(messages)["result"]["content"][0]["text"]


def test_what_belongs_to_no_call_comes_on_the_sessions_stream(client: Client) -> None:
    web = client("/mcp/default/alpha")
    web.initialize()
    assert web.call("echo", {"text": "started"}).text == "started"
    with web.stream("GET") as messages:
        web.request("resources/subscribe", {"uri": "alpha://doc/1"})
        assert web.call("add_tool").text == "added"
        assert next(messages)["method"].startswith("notifications/")


def test_a_call_is_cancelled_by_its_own_id_and_its_answer_is_left_out(client: Client) -> None:
    web = client("/mcp/default/alpha")
    web.initialize()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(web.call, "sleep", {"ms": 60_000}, "slow one")
        cancel = {"method": "notifications/cancelled", "params": {"requestId": "slow one"}}
        until(lambda: web.post({"jsonrpc": "2.0", **cancel}).status == 202 and slow.done())
        assert not slow.result(20).messages
    assert web.call("echo", {"text": "on"}).text == "on"


def test_a_session_ends_with_delete_and_is_nobody_elses(client: Client, toolcrib: Toolcrib) -> None:
    web, other = client(), client("/mcp/work")
    web.initialize()
    key = web.headers["Mcp-Session-Id"]
    assert other.send("DELETE", Mcp_Session_Id=key).status == 404
    other.headers["Mcp-Session-Id"] = key
    assert other.request("tools/list").status == 404
    assert state(toolcrib)["sessions"] == 1
    assert web.send("DELETE").status == 200
    assert web.request("tools/list").status == 404
    until(lambda: state(toolcrib)["sessions"] == 0)
    assert WebClient(web.port, "", "/mcp/default").request("initialize").status == 401
    del web.headers["Mcp-Session-Id"]
    assert web.request("tools/list").status == 400 and web.send("GET").status == 405


# ---- 2026-07-28


def test_a_request_without_a_session_is_answered_by_itself(client: Client) -> None:
    web = client()
    found = web.ask("server/discover").last["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert "mcp-session-id" not in web.ask("tools/list").headers
    answer = web.ask("tools/call", {"name": "call_tool", "arguments": {"name": "beta/pid"}})
    assert answer.last["result"]["resultType"] == "complete"


def test_headers_that_say_otherwise_than_the_body_are_refused(client: Client) -> None:
    web = client("/mcp/default/alpha")
    message = web.message("tools/call", {"name": "echo", "arguments": {"text": "é"}}, 1)
    routing = web.routing(message)
    for wrong in ({"Mcp-Name": "pid"}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": None}):
        answer = web.post(message, **{**routing, **wrong})
        assert answer.status == 400 and answer.last["error"]["code"] == -32020
    old = web.post(message, **{**routing, "MCP-Protocol-Version": "2025-11-25"})
    assert old.status == 400 and old.last["error"]["code"] == -32020
    assert web.post(message, **{**routing, "Mcp-Name": "=?base64?ZWNobw==?="}).text == "é"
    assert web.ask("nonsense/method").status == 404
    bare = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
    assert web.post(bare, MCP_Protocol_Version="2026-07-28").last["error"]["code"] == -32602


def test_programs_without_sessions_never_share_a_server(client: Client) -> None:
    one, again, other = client("/mcp/default/alpha"), client("/mcp/default/alpha"), client(
        "/mcp/default/alpha", "another program"
    )  # fmt: skip
    pids = [web.ask("tools/call", {"name": "pid"}).text for web in (one, again, other)]
    assert pids[0] == pids[1] != pids[2]


def test_windows_of_one_program_never_get_each_others_answers(client: Client) -> None:
    """Equal ids and equal progress tokens, at the same time."""
    web = client("/mcp/default/alpha")

    def asked(number: int) -> bool:
        echo = web.ask("tools/call", {"name": "echo", "arguments": {"text": f"{number}"}}, 1)
        meta = {"progressToken": 1}
        steps = web.ask("tools/call", {"name": "progress", "_meta": meta}, 1)
        tokens = [m["params"]["progressToken"] for m in steps.messages[:-1]]
        return (echo.text, echo.last["id"]) == (f"{number}", 1) and tokens == [1, 1, 1]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(asked, range(40)))


def test_closing_a_stream_takes_the_request_back(client: Client, toolcrib: Toolcrib) -> None:
    web = client("/mcp/default/alpha")
    assert web.ask("tools/call", {"name": "pid"}).status == 200
    message = web.message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 9)
    with web.stream("POST", message, **web.routing(message)) as messages:
        first = next(messages)
        assert first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 9
        assert web.ask("tools/call", {"name": "add_tool"}).text == "added"
        assert next(messages)["method"] == "notifications/tools/list_changed"
    assert web.ask("tools/call", {"name": "echo", "arguments": {"text": "on"}}).text == "on"


def test_an_answer_does_not_wait_for_the_clients_acknowledgement(client: Client) -> None:
    """Head and body are two writes; the second would wait 40 ms for it, each time."""
    web = client("/mcp/default/alpha")
    web.initialize()
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    connection = web.connect()
    times = []
    for _ in range(50):
        began = time.perf_counter()
        connection.request("POST", web.path, body, web.headers)
        assert connection.getresponse().read()
        times.append(time.perf_counter() - began)
    connection.close()
    assert min(times) < 0.035


# ---- the switch


def test_it_is_off_until_it_is_switched_on_and_off_again(
    toolcrib: Toolcrib, control: Control, backends: Callable[[], list[psutil.Process]]
) -> None:
    assert "is off" in toolcrib("backend", "http", "status").stdout
    toolcrib("backend", "restart")
    (process,) = backends()
    assert not process.net_connections("tcp")
    assert "uvicorn" not in " ".join(m.path for m in process.memory_maps())
    port = free_port()
    on = toolcrib("backend", "http", "on", "--port", str(port)).stdout
    assert f"http://127.0.0.1:{port}/mcp/default" in on and "/mcp/work" in on
    (process,) = backends()  # an idle one may have ended before it was switched on
    (listening,) = process.net_connections("tcp")
    assert listening.laddr == ("127.0.0.1", port)
    lives_on(control, 4)  # longer than an idle backend does
    assert backends() == [process]
    toolcrib("backend", "http", "off")
    until(lambda: not backends())
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 5)


def test_a_port_that_is_taken_is_said_and_another_one_chosen(toolcrib: Toolcrib) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = toolcrib("backend", "http", "on", "--port", port, code=1).stderr
        assert f"Port {port} cannot be used" in refused and "--port" in refused
    other = str(free_port())
    assert "It answers" in toolcrib("backend", "http", "on", "--port", other).stdout
    assert "no port for it" in toolcrib("backend", "http", "on", "--port", "80", code=1).stderr


def test_renewed_tokens_make_the_old_ones_void(client: Client, toolcrib: Toolcrib) -> None:
    web = client()
    web.initialize()
    toolcrib("backend", "http", "renew")
    until(lambda: refused(web))
    assert client_again(web, toolcrib).ask("server/discover").status == 200


def refused(web: WebClient) -> bool:
    try:
        return web.request("tools/list").status == 401
    except OSError:  # it listens anew
        return False


def client_again(web: WebClient, toolcrib: Toolcrib) -> WebClient:
    token = toolcrib("backend", "http", "token").stdout.strip()
    return WebClient(web.port, token)


def test_the_window_can_change_other_settings_meanwhile(
    client: Client, home: Path, control: Control
) -> None:
    web = client()
    web.initialize()
    file = home / "settings.toml"
    file.write_text(file.read_text(encoding="utf-8") + "zoom = 110\n", encoding="utf-8")
    lives_on(control, 3)
    assert web.request("tools/list").status == 200
    file.write_text("http = 'perhaps'\n", encoding="utf-8")
    lives_on(control, 3)
    assert web.request("tools/list").status == 200  # what cannot be read changes nothing


def test_hosts_with_an_adapter_are_served_beside_it(
    client: Client, adapter: Callable[..., raw_host.RawHost], toolcrib: Toolcrib
) -> None:
    web, host = client(), adapter("--server", "alpha")
    host.initialize()
    web.initialize()
    assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"
    assert web.call("call_tool", {"name": "alpha/echo", "arguments": {"text": "b"}}).text == "b"
    status = json.loads(toolcrib("backend", "status", "--json").stdout)
    rows = {session["host"]: session["host_pid"] for session in status["sessions"]}
    assert rows == {"raw-host": os.getpid(), "web": 0}


def test_a_url_that_names_its_servers_reaches_no_other(client: Client) -> None:
    web = client("/mcp/default?servers=alpha", profile="default")
    web.initialize()
    menu = web.request("tools/list").last["result"]["tools"]
    assert "Servers: alpha." in menu[0]["description"]
    call = {"name": "beta/echo", "arguments": {"text": "hi"}}
    assert web.call("call_tool", call).text != "hi"
    none = client("/mcp/default?servers=", profile="default")
    none.initialize()
    assert "Servers:" not in none.request("tools/list").last["result"]["tools"][0]["description"]
    twice = client("/mcp/default?servers=alpha&servers=beta", profile="default")
    assert twice.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404


def test_a_keychain_that_hangs_stops_the_endpoint_only(
    toolcrib: Toolcrib,
    adapter: Callable[..., raw_host.RawHost],
    control: Control,
    home: Path,
    tmp_path: Path,
) -> None:
    port = free_port()
    toolcrib("backend", "http", "on", "--port", str(port))
    end_backends(home)
    (home / "secrets.json").unlink()  # the keychain has the secret from here on
    pipe = tmp_path / "keychain"
    os.mkfifo(pipe)
    keyring = "tests.fakes.gated_keychain.Keyring"
    host = adapter("--server", "alpha", PYTHON_KEYRING_BACKEND=keyring, KEYCHAIN_PIPE=str(pipe))
    host.initialize()
    until(lambda: "keychain does not answer" in control("status")["http"]["problem"])

    def answers() -> bool:
        with suppress(OSError):  # nothing asks the keychain at this moment
            writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            os.write(writing, json.dumps({"secret": "0" * 64}).encode())
            os.close(writing)
        return bool(control("status")["http"]["port"] == port)

    until(answers)
    assert control("status")["http"]["problem"] == ""
