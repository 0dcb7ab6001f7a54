"""Listens on 127.0.0.1 for the browser's return from the authorization page."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

_PATH = "/callback"
_MOST_BYTES = 16_384
_SECONDS = 10.0
_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Toolcrib</title>
<style>body{{font:16px system-ui,sans-serif;margin:4em auto;max-width:32em;color-scheme:light dark}}
</style><h1>{title}</h1><p>{text}</p></html>
"""
_DONE = _PAGE.format(title="Back to Toolcrib", text="You can close this page.")
_DENIED = _PAGE.format(
    title="No sign-in", text="The sign-in was not allowed. You can close this page."
)
_OTHER = _PAGE.format(title="Nothing here", text="Toolcrib does not wait for this.")


class PortTakenError(Exception):
    """Another program listens there."""


class Listener:
    """One answer on a port of its own.

    Any program and any web page of this machine can send something here. Until `expect` says which
    state the answer carries, and whenever it carries another, it is not the answer.
    """

    def __init__(self, port: int) -> None:
        self._state = ""
        self.redirect_uri = f"http://127.0.0.1:{port}{_PATH}"
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._open: set[asyncio.StreamWriter] = set()

    def expect(self, state: str) -> None:
        """Wait for the answer to the authorization request with this state."""
        self._state = state

    def _belongs(self, query: dict[str, str]) -> bool:
        state = query.get("state", "")
        return bool(self._state) and secrets.compare_digest(state.encode(), self._state.encode())

    async def answer(self) -> dict[str, str]:
        """The query that the browser brought: code and state, or an error."""
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of a browser."""
        self._open.add(writer)
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
            answer = _query(head)
            waits = answer is not None and not self._answer.done() and self._belongs(answer)
            status, page = ("404 Not Found", _OTHER) if not waits else ("200 OK", _DONE)
            if waits and answer is not None and "error" in answer:
                page = _DENIED
            writer.write(_response(status, page))
            await writer.drain()
            if waits and answer is not None:
                self._answer.set_result(answer)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # no browser
        finally:
            self._open.discard(writer)
            await _close(writer)

    async def close(self) -> None:
        """Hang up on browsers that only opened a connection."""
        for writer in tuple(self._open):
            await _close(writer)


@contextlib.asynccontextmanager
async def listening(port: int = 0) -> AsyncIterator[Listener]:
    """A listener on this port of the loopback address, 0 for any free one."""
    listeners: list[Listener] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await listeners[0].serve(reader, writer)

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", port, limit=_MOST_BYTES)
    except OSError as error:
        raise PortTakenError from error
    listeners.append(Listener(server.sockets[0].getsockname()[1]))
    try:
        yield listeners[0]
    finally:
        server.close()
        await listeners[0].close()


def _query(head: bytes) -> dict[str, str] | None:
    """Parameters of a GET of the callback, None for any other request."""
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3 or words[0] != "GET":
        return None
    try:
        target = urlsplit(words[1])
    except ValueError:
        return None
    values = {name: all_of[0] for name, all_of in parse_qs(target.query).items()}
    return values if target.path == _PATH and values.keys() & {"code", "error"} else None


def _response(status: str, page: str) -> bytes:
    body = page.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
