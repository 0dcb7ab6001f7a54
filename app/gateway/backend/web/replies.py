"""Bytes of HTTP answers over ASGI, each with a limit on how long a client may take to read them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from app.mcp import jsonrpc
from store.typed import Any, Json

Send = Callable[[Json], Awaitable[None]]
JSON, EVENTS = "application/json", "text/event-stream"
_READ_SECONDS = 60.0  # that a client may take to read what was sent before


class Reply:
    """One HTTP response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._headers: dict[str, str] = {}
        self.begun = False

    def add_header(self, name: str, value: str) -> None:
        """A header of the response, whatever it will be."""
        self._headers[name] = value

    async def whole(self, status: int, body: bytes = b"", kind: str = JSON) -> None:
        """A response with a body of that kind, or with none."""
        headers = {"content-type": kind} if body else {}
        await self._begin(status, {"content-length": str(len(body)), **headers})
        await self._write({"type": "http.response.body", "body": body})

    async def text(self, status: int, text: str, kind: str) -> None:
        """A response of plain text."""
        await self.whole(status, text.encode(), kind)

    async def refuse(self, status: int, reason: str, *, code: int = -32000) -> None:
        """A refusal with its reason; what is left of the request is not read."""
        self.add_header("connection", "close")
        await self.whole(status, jsonrpc.dump(jsonrpc.error(None, code, reason)))

    async def events(self) -> None:
        """Begin a stream of events."""
        more = {"content-type": EVENTS, "cache-control": "no-store", "x-accel-buffering": "no"}
        await self._begin(200, more)

    async def event(self, data: bytes) -> None:
        """One message; a line end inside JSON is a blank between its parts."""
        line = data.replace(b"\r", b" ").replace(b"\n", b" ")
        await self._more(b"event: message\ndata: " + line + b"\n\n")

    async def alive(self) -> None:
        """A comment, for what ends silent connections."""
        await self._more(b": \n\n")

    async def end(self) -> None:
        """End the stream."""
        await self._write({"type": "http.response.body", "body": b""})

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        pairs = [(k.encode(), v.encode()) for k, v in {**self._headers, **headers}.items()]
        await self._write({"type": "http.response.start", "status": status, "headers": pairs})

    async def _more(self, body: bytes) -> None:
        await self._write({"type": "http.response.body", "body": body, "more_body": True})

    async def _write(self, event: dict[str, Any]) -> None:
        await asyncio.wait_for(self._send(event), _READ_SECONDS)
