"""A client of the HTTP endpoint: plain requests of both revisions, every answer as it came."""

import contextlib
import http.client
import itertools
import json
import socket
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Answer:
    """One HTTP answer, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()
        self.messages = list(_messages(self.headers.get("content-type", ""), self.body))

    @property
    def last(self) -> Json:
        """The JSON-RPC answer, which comes last."""
        return self.messages[-1]

    @property
    def text(self) -> str:
        """The text of a tool's result."""
        return self.last["result"]["content"][0]["text"]


def _messages(kind: str, body: bytes) -> Iterator[Json]:
    if kind == "application/json":
        yield json.loads(body)
    for line in body.split(b"\n") if kind == "text/event-stream" else ():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


class WebClient:
    """Speaks to one URL; `name` is what it says of itself."""

    def __init__(
        self, port: int, token: str, path: str = "/mcp/default", name: str = "web"
    ) -> None:
        self.port = port
        self.path = path
        self.name = name
        self.headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.numbers = itertools.count(1)

    def connect(self) -> http.client.HTTPConnection:
        """A connection of its own."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def send(self, method: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Any request; a header of None is left out."""
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection = self.connect()
        try:
            fields = {name: value for name, value in given.items() if value is not None}
            connection.request(method, self.path, body or None, fields)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, message: Json, **headers: str | None) -> Answer:
        """A message."""
        return self.send("POST", json.dumps(message).encode(), **headers)

    @contextlib.contextmanager
    def stream(self, method: str, message: Json | None = None, **headers: str) -> Iterator[Any]:
        """The messages of an answer one by one as they come; closed at the end of the block."""
        connection = self.connect()
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        try:
            connection.request(method, self.path, json.dumps(message) if message else None, given)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield (json.loads(line[6:]) for line in response if line.startswith(b"data: "))
        finally:
            connection.close()

    # ---- with a session

    def initialize(self, capabilities: Json | None = None) -> Answer:
        """Open a session; later requests are of it."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": {"name": self.name, "version": "1"},
        }
        answer = self.request("initialize", params)
        self.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def request(self, method: str, params: Json | None = None, number: Any = None) -> Answer:
        """A request of the session."""
        number = next(self.numbers) if number is None else number
        return self.post({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})

    def call(self, tool: str, arguments: Json | None = None, number: Any = None) -> Answer:
        """Call a tool of the session."""
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}}, number)

    # ---- without one

    def ask(self, method: str, params: Json | None = None, number: Any = None) -> Answer:
        """A stateless request, with all that it has to say."""
        number = next(self.numbers) if number is None else number
        message = self.message(method, params or {}, number)
        return self.post(message, **self.routing(message))

    def ask_with(self, **headers: str) -> Answer:
        """A stateless request for the tools, with other headers."""
        message = self.message("tools/list", {}, next(self.numbers))
        own = {name.replace("-", "_"): value for name, value in self.routing(message).items()}
        return self.post(message, **{**own, **headers})

    def message(self, method: str, params: Json, number: Any) -> Json:
        """Its body."""
        meta = {
            **params.get("_meta", {}),
            PREFIX + "protocolVersion": MODERN,
            PREFIX + "clientInfo": {"name": self.name, "version": "1"},
            PREFIX + "clientCapabilities": {},
        }
        given = {**params, "_meta": meta}
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": given}

    @staticmethod
    def routing(message: Json) -> dict[str, str]:
        """The headers that repeat what it asks for."""
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
        key = NAMED.get(message["method"])
        return {**headers, "Mcp-Name": message["params"][key]} if key else headers
