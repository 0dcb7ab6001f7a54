"""A server behind a URL that answers with what nobody expects, or with far too much."""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from odd_gateway import DOUBTED, NOBODYS, OWN, REFUSALS, RIGHT, ROOT, line

from app.hosts.launch import LaunchSpec
from app.mcp.http import RemoteChannel
from app.mcp.requests import OwnRequest
from app.mcp.session import Upstream

READ = """
import sys
from app.registry.probe import probe
from app.hosts.launch import LaunchSpec
reading = probe(LaunchSpec("http", url=sys.argv[1]))
lines = open("/proc/self/status").read().splitlines()  # ru_maxrss counts the forking parent too
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(peak // 1024, reading.problem)
"""


def packed(start, piece, count):
    """A body that is small only while it is compressed."""
    squeeze = zlib.compressobj(1, wbits=31)
    parts = [squeeze.compress(start)]
    parts += [squeeze.compress(piece * 100_000) for _ in range(count)]
    return b"".join([*parts, squeeze.flush()])


@pytest.mark.parametrize(
    ("piece", "count", "problem"),
    [(b"          ", 400, "a message of over"), (b"[],", 120, "values"), (b"[", 2, "deeply")],
)
def test_a_small_answer_that_grows_by_decompression_is_refused(piece, count, problem):
    body = packed(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[', piece, count)

    with web(lambda _message: (body, {"Content-Encoding": "gzip"})) as url:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", READ, url], env=env, capture_output=True, text=True, timeout=120
        )
    megabytes, _, said = done.stdout.strip().partition(" ")
    assert problem in said, done.stderr
    assert int(megabytes) < 400


WEB_ANSWERS = [
    *REFUSALS,
    line(id={}, result={}),
    line(id=None, error={"code": -32600, "message": "what?"}),
    line(**OWN, result=7),
    line(method="notifications/progress", params=[1]),
    "[]",
    "",
    NOBODYS[0].join(['{"jsonrpc":"2.0","result":{},"id":', "}"]),
]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
def test_odd_answers_over_http_end_their_calls_and_nothing_else(kind):
    def respond(message):
        number = message["id"]
        body = RIGHT_ANSWER
        if message["method"] == "initialize":
            body = line(id=number, result={"protocolVersion": "2025-11-25", "capabilities": {}})
        elif message["method"] == "tools/call":
            body = message["params"]["name"]
        if kind == "text/event-stream":
            body = f"data: {body}\n\n"
        usual = body is RIGHT_ANSWER or message["method"] == "initialize"
        headers = {"Content-Type": "application/json" if usual and "html" in kind else kind}
        return body.replace("@ID@", str(number)).encode(), headers

    with web(respond) as url:
        launch = LaunchSpec("http", url=url)
        upstream = Upstream("web", lambda: RemoteChannel(launch, (), auth=None), NoHost())
        try:
            for answer in WEB_ANSWERS:
                assert asked(upstream, "tools/call", {"name": answer})
                assert asked(upstream, "ping", {}) == {"content": RIGHT}
        finally:
            upstream.close(2.0)


RIGHT_ANSWER = line(id="@ID@", result={"content": RIGHT})


class NoHost:
    """The host's side of an upstream, where nobody listens."""

    def hello(self):
        info = {"name": "t", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}

    def stateless(self):
        return False

    def envelope(self):
        return {}

    def opening_requests(self, upstream):
        return []

    def ready(self, upstream):
        pass

    def on_request(self, upstream, request):
        pass

    def on_notification(self, upstream, line, message):
        pass

    def down(self, upstream, reason, printed):
        pass


def asked(upstream, method, params):
    """The result of a request, or the text of what went wrong; looked after once a second."""
    outcomes, done = [], threading.Event()

    def took(outcome):
        outcomes.append(outcome)
        done.set()

    message = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
    upstream.request(OwnRequest(message, answered=took, failed=took))
    deadline = time.monotonic() + DOUBTED
    while not done.wait(0.2):
        upstream.check()
        assert time.monotonic() < deadline, params
    outcome = outcomes[0]
    return outcome.get("result") or str(outcome) if isinstance(outcome, dict) else outcome


@contextlib.contextmanager
def web(respond):
    """The URL of a server; `respond` gives the body and headers for each request."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in message:
                self.reply(202, b"", {})
            else:
                self.reply(200, *respond(message))

        def do_GET(self):
            self.reply(405, b"", {})

        def do_DELETE(self):
            self.reply(200, b"", {})

        def reply(self, status, body, headers):
            self.send_response(status)
            headers = {"Content-Type": "application/json", "Content-Length": len(body), **headers}
            for name, value in headers.items():
                self.send_header(name, str(value))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_arguments):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()
