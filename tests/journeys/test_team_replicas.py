"""Three replicas behind HAProxy under load: one killed, Postgres restarted, the others rolled.

Every call has a number of its own. An answer is its number or an error: none is lost without one,
none is another call's, and no number reaches the server twice.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.team_server.sealing import new_key
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.team_replica import Replica, environment, program
from tests.fakes.web_client import WebClient, free_port

HAPROXY = os.environ.get("TOOLCRIB_HAPROXY") or shutil.which("haproxy")
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.timeout(200),
    pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed (TOOLCRIB_HAPROXY)"),
]
CLIENTS, DRAIN = 6, 2.0  # the balancer notices a failing readiness in 0.6 s
CONFIG = """
global
    maxconn 500
defaults
    mode http
    timeout connect 3s
    timeout client 70s
    timeout server 70s
    option redispatch 1
    retries 1
    retry-on conn-failure
frontend team
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance leastconn
    option httpchk GET /readyz
    default-server check inter 300ms fall 2 rise 2
{servers}
"""


class Counting:
    """An MCP server over HTTP that counts the numbers that reach it."""

    def __init__(self) -> None:
        self.calls: Counter[int] = Counter()
        self._lock = threading.Lock()
        counting = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = counting.answer(json.loads(body))
                data = json.dumps(answer).encode() if answer else b""
                self.send_response(200 if answer else 202)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        method = message.get("method")
        if "id" not in message:
            return None
        result: dict[str, Any] = {}
        if method == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "counting", "version": "1"},
            }
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
            result = {"tools": [{"name": "count", "description": "Count.", "inputSchema": schema}]}
        elif method == "tools/call":
            number = message["params"]["arguments"]["number"]
            with self._lock:
                self.calls[number] += 1
            time.sleep(0.02)
            result = {"content": [{"type": "text", "text": f"number {number}"}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Load:
    """Clients that call without a pause, each through its own connection."""

    def __init__(self, port: int, token: str) -> None:
        self.good: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.times: list[float] = []
        self._port, self._token = port, token
        self._next = iter(range(1, 10**9))
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self) -> None:
        client = WebClient(self._port, self._token, "/mcp")
        while not self.ended.is_set():
            with self._lock:
                number = next(self._next)
            began = time.monotonic()
            outcome = self._call(client, number)
            with self._lock:
                self.times.append(time.monotonic() - began)
                if outcome == f"number {number}":
                    self.good[number] += 1
                elif outcome.startswith("number"):
                    self.wrong.append(f"{number}: {outcome}")
                else:
                    self.errors[outcome] += 1
                    if outcome.startswith("connection"):
                        self.ended.wait(0.05)

    @staticmethod
    def _call(client: WebClient, number: int) -> str:
        given = {
            "name": "call_tool",
            "arguments": {"name": "hits/count", "arguments": {"number": number}},
        }
        try:
            answer = client.ask("tools/call", given)
        except Exception as error:
            return f"connection {type(error).__name__}"
        if answer.status != 200:
            return f"status {answer.status}"
        last = answer.last
        if "error" in last:
            return f"error {last['error']['message']}"
        text = last["result"]["content"][0]["text"]
        return text if not last["result"].get("isError") else f"tool error {text[:60]}"


@contextlib.contextmanager
def proxy(port: int, replicas: list[int], folder: Path) -> Iterator[None]:
    servers = "\n".join(f"    server r{n} 127.0.0.1:{one}" for n, one in enumerate(replicas))
    file = folder / "haproxy.cfg"
    file.write_text(CONFIG.format(port=port, servers=servers))
    process = subprocess.Popen([str(HAPROXY), "-f", str(file), "-db"], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def until_ready(port: int) -> None:
    client = WebClient(port, "", "/readyz")
    limit = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError):
            if client.send("GET", Authorization=None).status == 200:
                return
        assert time.monotonic() < limit
        threading.Event().wait(0.05)


def test_kill_restart_and_roll_under_load(no_process_left_behind: None) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tcr"))
    counting = Counting()
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn:
            given = environment(
                dsn,
                new_key(),
                TOOLCRIB_TEAM_INSIDE=f"127.0.0.1:{counting.port}",
                TOOLCRIB_TEAM_RATE="5000",
                TOOLCRIB_TEAM_BURST="5000",
                TOOLCRIB_TEAM_CALLS_A_DAY="1000000",
            )
            program(given, "user", "add", "jo", "--organisation", "acme")
            token = program(given, "token", "issue", "jo", "--organisation", "acme")
            url = f"http://127.0.0.1:{counting.port}/mcp"
            program(given, "server", "add", "hits", "--url", url, "--organisation", "acme")
            port = int(given["TOOLCRIB_TEAM_URL"].rpartition(":")[2])
            ports = [free_port() for _ in range(3)]
            running = [
                Replica(given, folder / f"err{n}", one, DRAIN) for n, one in enumerate(ports)
            ]
            with proxy(port, ports, folder):
                until_ready(port)
                for one in ports:
                    until_ready(one)
                load = Load(port, token)
                threading.Event().wait(4)
                running[0].stop(signal.SIGKILL)
                threading.Event().wait(3)
                before_restart = sum(load.good.values())
                trial.stop()
                trial = cluster(folder / "pg")
                restarted = time.monotonic()
                while sum(load.good.values()) == before_restart:
                    assert time.monotonic() < restarted + 40, load.errors
                    threading.Event().wait(0.1)
                recovered = time.monotonic() - restarted
                running[0] = Replica(given, folder / "err0", ports[0], DRAIN)
                until_ready(ports[0])
                threading.Event().wait(2)
                rolled_from = dict(load.errors)
                for n in (1, 2):
                    assert running[n].stop() == 0
                    running[n] = Replica(given, folder / f"err{n}", ports[n], DRAIN)
                    until_ready(ports[n])
                    threading.Event().wait(2)
                rolled = Counter(load.errors) - Counter(rolled_from)
                load.stop()
            for one in running:
                assert one.stop() == 0
        times = sorted(load.times)
        print(
            f"good {sum(load.good.values())} errors {dict(load.errors)} rolled {dict(rolled)}"
            f" recovered {recovered:.1f}s p50 {times[len(times) // 2]:.3f}"
            f" p95 {times[len(times) * 95 // 100]:.3f} max {times[-1]:.2f}"
        )
        assert load.wrong == []
        assert [n for n, count in counting.calls.items() if count > 1] == []
        assert all(counting.calls[number] == 1 for number in load.good)
        assert sum(load.good.values()) > 100
        assert times[-1] < 30
        assert not rolled  # a roll is seen by no client
    finally:
        counting.close()
        trial.stop()
        shutil.rmtree(folder)
