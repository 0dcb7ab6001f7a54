"""Requests over HTTP as messages: refused by their headers first, bounded in size and time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from app.gateway.backend.web.replies import EVENTS, JSON
from app.mcp import jsonrpc
from app.mcp.limits import NotJsonError, TooLargeError
from app.mcp.protocol import INVALID_REQUEST, PARSE_ERROR
from store.typed import Any, Json

Receive = Callable[[], Awaitable[dict[str, Any]]]
LARGEST_BODY = 16 << 20  # bytes
_BODY_SECONDS = 20.0  # that a client may take to send a request's body


class GoneError(Exception):
    """The client went away, or was too slow."""


async def body_of(receive: Receive) -> bytes | None:
    """A request's body in time, None where it is too large; raises GoneError, TimeoutError."""
    return await asyncio.wait_for(_read(receive), _BODY_SECONDS)


async def _read(receive: Receive) -> bytes | None:
    """The request's body, None where it is too large; raises GoneError."""
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise GoneError
        part: bytes = event.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY:
            return None
        if not event.get("more_body"):
            return b"".join(parts)


def unfit(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Status and reason that refuse a POST before its body is read, None when it is fit."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        return 415, f"A message is {JSON}."
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST_BODY:
        return 413, f"A message has at most {LARGEST_BODY:,} bytes."
    accepted = headers.get("accept", "*/*").lower()
    if not any(one in accepted for one in (JSON, "application/*", "*/*")):
        return 406, f"An answer is {JSON} or {EVENTS}."
    return None


def takes_events(headers: Mapping[str, str]) -> bool:
    """True if the client reads a stream of events."""
    accepted = headers.get("accept", "*/*").lower()
    return any(one in accepted for one in (EVENTS, "text/*", "*/*"))


def message_of(body: bytes) -> tuple[Json | None, str, int]:
    """The one message of a body; else the reason and the code of the refusal."""
    try:
        messages, _ = jsonrpc.parse(body)
    except TooLargeError as error:
        return None, f"You sent {error}.", INVALID_REQUEST
    except NotJsonError:
        return None, "Parse error", PARSE_ERROR
    message = messages[0]
    named = isinstance(message.get("method"), str)
    answers = "result" in message or "error" in message
    if body.lstrip()[:1] == b"[" or not (named or answers):
        return None, "A body is one JSON-RPC message.", INVALID_REQUEST
    if "id" in message and type(message["id"]) not in (int, str, float):
        return None, "The id is no number or text.", INVALID_REQUEST
    return message, "", 0
