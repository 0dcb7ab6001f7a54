"""A registry of servers that speaks v0.1, on loopback: honest, or hostile as `mode` says."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]
META = "io.modelcontextprotocol.registry/official"
SUBJECTS = (
    "extracts text from PDF files", "queries a Postgres database", "sends mail",
    "draws charts", "books meeting rooms", "translates documents", "resizes pictures",
    "watches prices of shares", "forecasts the weather", "keeps notes",
)  # fmt: skip


def entry(
    number: int, *, updated: str = "", status: str = "active", version: str = "1.0.0", **fields: Any
) -> Json:
    """One item of the list."""
    server = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"io.github.somebody/server-{number}",
        "description": f"Server {number} {SUBJECTS[number % len(SUBJECTS)]}",
        "version": version,
        "packages": [
            {
                "registryType": "npm",
                "identifier": f"server-{number}",
                "version": version,
                "transport": {"type": "stdio"},
            }
        ],
        **fields,
    }
    at = updated or f"2026-01-{1 + number % 28:02d}T00:00:00Z"
    meta = {"status": status, "publishedAt": at, "updatedAt": at, "isLatest": True}
    return {"server": server, "_meta": {META: meta}}


class FakeRegistry(ThreadingHTTPServer):
    """Serves `items`, a page at a time; `before_page` is called with each page's number."""

    daemon_threads = True

    def __init__(self, items: list[Json], mode: str = "", page: int = 100) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.items = items
        self.mode = mode
        self.page = page
        self.asked: list[dict[str, str]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.before_page = lambda _number: None
        self.stopped = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def listed(self, since: str) -> list[Json]:
        if not since:
            return [one for one in self.items if one["_meta"][META]["status"] != "deleted"]
        return [one for one in self.items if one["_meta"][META]["updatedAt"] >= since]


class _Handler(BaseHTTPRequestHandler):
    server: FakeRegistry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.server.asked.append({"path": parts.path, **query})
        self.server.headers_seen.append(dict(self.headers))
        trick = getattr(self, f"_do_{self.server.mode.replace('-', '_')}", None)
        if trick is not None:
            trick(query)
        elif "/versions/" in parts.path:
            self._version(unquote(parts.path.split("/")[-3]), unquote(parts.path.split("/")[-1]))
        else:
            self._page(query)

    def _page(self, query: dict[str, str]) -> None:
        number = len(self.server.asked)
        self.server.before_page(number)
        start = int(query.get("cursor") or 0)
        items = self.server.listed(query.get("updated_since", ""))
        part = items[start : start + self.server.page]
        end = start + self.server.page
        cursor = str(end) if end < len(items) else None
        self._send(200, {"servers": part, "metadata": {"nextCursor": cursor, "count": len(part)}})

    def _version(self, name: str, version: str) -> None:
        for one in self.server.items:
            server = one["server"]
            if server["name"] == name and version in ("latest", server["version"]):
                self._send(200, one)
                return
        self._send(404, {"error": "Server not found"})

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    # ---- tricks: what a hostile or broken registry does

    def _do_broken_json(self, _query: Json) -> None:
        self._send(200, b'{"servers": [{"server"')

    def _do_no_list(self, _query: Json) -> None:
        self._send(200, {"servers": "all of them"})

    def _do_a_list(self, _query: Json) -> None:
        self._send(200, b"[1,2,3]")

    def _do_html(self, _query: Json) -> None:
        self._send(200, b"<html>Log in</html>")

    def _do_deep(self, _query: Json) -> None:
        self._send(200, b'{"servers":' + b"[" * 200_000 + b"]" * 200_000 + b"}")

    def _do_endless_cursor(self, query: Json) -> None:
        place = int(query.get("cursor") or 0) + 1
        self._send(200, {"servers": [], "metadata": {"nextCursor": str(place)}})

    def _do_same_cursor(self, _query: Json) -> None:
        self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": "again"}})

    def _do_two_cursors(self, query: Json) -> None:
        other = "b" if query.get("cursor") == "a" else "a"
        self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": other}})

    def _do_cursor_is_a_map(self, _query: Json) -> None:
        self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": {"to": "hell"}}})

    def _do_half_a_cursor(self, _query: Json) -> None:
        self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": "\ud800"}})

    def _do_huge_cursor(self, _query: Json) -> None:
        self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": "x" * 100_000}})

    def _do_cursor_with_query(self, query: Json) -> None:
        if query.get("cursor"):
            self._send(200, {"servers": [entry(2)], "metadata": {}})
        else:
            cursor = "a&search=b#/../../admin?x=http://127.0.0.1:1/"
            self._send(200, {"servers": [entry(1)], "metadata": {"nextCursor": cursor}})

    def _do_many_at_once(self, _query: Json) -> None:
        self._send(200, {"servers": [entry(n) for n in range(1, 1_500)], "metadata": {}})

    def _do_redirect_elsewhere(self, _query: Json) -> None:
        self._send(302, b"", {"Location": "http://127.0.0.1:1/secrets"})

    def _do_redirect_to_file(self, _query: Json) -> None:
        self._send(302, b"", {"Location": "file:///etc/passwd"})

    def _do_redirect_to_no_url(self, _query: Json) -> None:
        self._send(302, b"", {"Location": "http://[bad"})

    def _do_redirect_to_no_host(self, _query: Json) -> None:
        self._send(302, b"", {"Location": "//a\u2100b/".encode().decode("latin-1")})

    def _do_endless_continue(self, _query: Json) -> None:
        self._endless_head(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _do_endless_header(self, _query: Json) -> None:
        self._endless_head(b"x", b"HTTP/1.1 200 OK\r\nX: ")

    def _endless_head(self, piece: bytes, first: bytes = b"") -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.write(first)
            while not self.server.stopped.wait(0.05):
                self.wfile.write(piece)

    def _do_redirect_circle(self, _query: Json) -> None:
        self._send(302, b"", {"Location": self.path})

    def _do_redirect_same_host(self, query: Json) -> None:
        if self.path.startswith("/moved"):
            self._page(query)
        else:
            self._send(308, b"", {"Location": "/moved" + self.path})

    def _do_big_page(self, _query: Json) -> None:
        self._endless(b'{"servers": [' + b" " * 65_536)

    def _do_gzip_bomb(self, _query: Json) -> None:
        bomb = gzip.compress(b" " * (8 << 20))  # made while the client waits
        self._send(200, bomb, {"Content-Encoding": "gzip"})

    def _do_gzip_damaged(self, _query: Json) -> None:
        self._send(200, b"\x1f\x8b\x08\x00no gzip", {"Content-Encoding": "gzip"})

    def _do_gzip_cut(self, _query: Json) -> None:
        whole = gzip.compress(json.dumps({"servers": []}).encode() + b" " * 4_000)
        self._send(200, whole[:-12], {"Content-Encoding": "gzip"})

    def _do_brotli(self, _query: Json) -> None:
        self._send(200, b"whatever", {"Content-Encoding": "br"})

    def _do_slow(self, _query: Json) -> None:
        self._endless(b" ", every=0.05)

    def _do_silent(self, _query: Json) -> None:
        self.server.stopped.wait(20)
        self.close_connection = True

    def _do_hangs_up(self, _query: Json) -> None:
        self.close_connection = True

    def _do_refuses(self, _query: Json) -> None:
        self._send(401, {"error": "who are you"})

    def _do_too_often(self, _query: Json) -> None:
        self._send(429, {"error": "slow down"})

    def _do_fails(self, _query: Json) -> None:
        self._send(500, b"\x1b[2J oops")

    def _do_forgets_cursors(self, query: Json) -> None:
        if query.get("cursor"):
            self._send(400, {"error": "invalid cursor"})
        else:
            self._page(query)

    def _do_other_server(self, query: Json) -> None:
        if "/versions/" in self.path:
            self._send(200, entry(666))
        else:
            self._page(query)

    def _endless(self, piece: bytes, every: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while (
                not self.server.stopped.wait(every) if every else not self.server.stopped.is_set()
            ):
                self.wfile.write(piece)
        except OSError:
            pass

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def fake_registry(items: list[Json], mode: str = "", page: int = 100) -> Iterator[FakeRegistry]:
    """A running registry."""
    server = FakeRegistry(items, mode, page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def main() -> None:
    """Serve 300 entries until the process is ended; prints its address."""
    import sys

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with fake_registry([entry(n) for n in range(count)]) as server:
        print(server.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
