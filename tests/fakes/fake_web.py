"""A real MCP server over HTTP, stdlib only: streamable HTTP or SSE, with refusals on demand."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
TOOLS = [{"name": "web_tool", "description": "Does it", "inputSchema": {"type": "object"}}]


class FakeWeb(ThreadingHTTPServer):
    """Serves /mcp (streamable HTTP) or /sse as `mode` says; `token` is the bearer it wants."""

    daemon_threads = True

    def __init__(self, mode: str, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mode = mode
        self.token = token
        self.asked: list[str] = []
        self.unanswered: queue.Queue[object] = queue.Queue()  # ids of what got silence
        self.headers_seen: list[dict[str, str]] = []
        self.events: queue.Queue[str | None] = queue.Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: FakeWeb
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        message = json.loads(self.rfile.read(length) or b"{}")
        self.server.headers_seen.append(dict(self.headers))
        mode = self.server.mode
        if self.server.token and self.headers.get("Authorization") != self.server.token:
            challenge = {"WWW-Authenticate": 'Bearer resource_metadata="http://127.0.0.1/x"'}
            self._send(401, b"", "text/plain", challenge)
        elif mode == "drop":
            self.close_connection = True
        elif mode == "late":
            self._tell(message)
            self.close_connection = True
        elif mode == "silent":
            self.server.unanswered.put(message.get("id"))
            self._send(202, b"", "text/plain")
        elif mode.isdigit():
            self._send(int(mode), b"no", "text/plain")
        elif mode == "sse" and self.path != "/messages":
            self._send(405, b"", "text/plain")
        else:
            self._answer(message)

    def do_GET(self) -> None:
        if self.server.token and self.headers.get("Authorization") != self.server.token:
            self._send(401, b"", "text/plain")
        elif self.server.mode in ("sse", "drop", "late", "silent"):
            self._events()
        else:
            self._send(405, b"", "text/plain")

    def do_DELETE(self) -> None:
        self._send(200, b"", "text/plain")

    def _answer(self, message: Json) -> None:
        self.server.asked.append(str(message.get("method")))
        if "id" not in message:
            self._send(202, b"", "text/plain")
            return
        if self.server.mode == "sse":
            self._tell(message)
            self._send(202, b"", "text/plain")
            return
        text = json.dumps(self._reply(message))
        if self.server.mode == "stream":
            body = f"event: message\ndata: {text}\n\n".encode()
            self._send(200, body, "text/event-stream")
        elif self.server.mode == "hang" and message["method"] == "tools/list":
            self.server.events.get(timeout=20)
        else:
            self._send(200, text.encode(), "application/json", {"Mcp-Session-Id": "s1"})

    def _tell(self, message: Json) -> None:
        """Answer on the event stream."""
        text = json.dumps(self._reply(message))
        self.server.events.put(f"event: message\ndata: {text}\n\n")

    def _reply(self, message: Json) -> Json:
        return {"jsonrpc": "2.0", "id": message["id"], **self._result(message)}

    def _result(self, message: Json) -> Json:
        method = message["method"]
        if self.server.mode == "modern":
            return self._modern(method)
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "web", "version": "1"}
            return {
                "result": {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            }
        if method == "tools/list":
            size = 2_000_000 if self.server.mode == "large" else 0
            return {"result": {"tools": [*TOOLS, {"name": "x" * size}] if size else TOOLS}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _modern(self, method: str) -> Json:
        if method == "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}
        if method == "tools/list":
            return {"result": {"tools": TOOLS, "resultType": "complete"}}
        return {"error": {"code": -32022, "message": "Unsupported protocol version"}}

    def _events(self) -> None:
        mine: queue.Queue[str | None] = queue.Queue()
        before = self.server.events
        self.server.events = mine
        before.put(None)  # one stream at a time has the answers
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
        self.wfile.flush()
        while (event := mine.get()) is not None:
            self.wfile.write(event.encode())
            self.wfile.flush()

    def _send(
        self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serve(mode: str = "json", token: str = "") -> Iterator[FakeWeb]:
    """A running server; modes json, stream, sse, modern, hang, large, or a status such as 403.

    Like sse, but when something is sent: drop hangs up, late answers first, silent never answers.
    """
    server = FakeWeb(mode, token)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        for _ in range(3):
            server.events.put(None)
        server.shutdown()
        thread.join(5)
        server.server_close()
