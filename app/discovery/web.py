"""A server behind a URL: streamable HTTP or SSE, with what the HTTP layer saw kept aside."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from app.discovery.attempt import Attempt
from app.discovery.conversation import converse, error_text
from app.discovery.reading import Limits, Reading, ReadingError
from app.discovery.wire import Wire, answer_server, ignore_notice
from app.hosts.launch import HTTP, LaunchSpec
from app.signin.auth import StoredAuth
from store.records import COULD_NOT_START, NEEDS_SIGN_IN

_CONNECT_SECONDS = 20.0
_SERVERS_FAULT = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.SSEError,
    MCPError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    OSError,
    ValueError,
)


class AnswerTooLargeError(httpx2.TransportError):
    """A body went over the limit."""


class Seen:
    """Notes refusals and counts bytes on their way through."""

    def __init__(self, limits: Limits, auth: StoredAuth | None = None) -> None:
        self.auth = auth
        self.refusal = 0  # the last status of 400 or more
        self.received = 0
        self.fault = ""
        self._limits = limits

    @property
    def wrong_transport(self) -> bool:
        """Whether the refusals are those of a server that expects the other transport."""
        return 400 <= self.refusal < 500 and self.refusal not in (401, 403)

    async def look(self, response: httpx2.Response) -> None:
        """What httpx2 calls for each response before its body is read."""
        self.refusal = response.status_code if response.status_code >= 400 else 0
        response.stream = _Counted(response.stream, self)

    def count(self, size: int) -> None:
        """Add to the bytes received; raises AnswerTooLargeError."""
        self.received += size
        if self.received > self._limits.output_bytes:
            self.fault = f"It sent over {self._limits.output_bytes:,} bytes."
            raise AnswerTooLargeError(self.fault)


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, seen: Seen) -> None:
        self._inner = inner
        self._seen = seen

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._seen.count(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def open_web(
    launch: LaunchSpec, *, transport: str, seen: Seen, limits: Limits
) -> AsyncIterator[tuple[Any, Any]]:
    """The message streams of a server at a URL.

    Raises what httpx2 and the SDK raise, most of it inside an ExceptionGroup.
    """
    _hush()
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=limits.total_seconds)

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = timeout,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        # hooks and no transport of our own, which would turn the system's proxies off
        hooks = {"response": [seen.look]}
        return httpx2.AsyncClient(
            headers=headers, timeout=timeout, auth=auth or seen.auth, event_hooks=hooks
        )

    async with AsyncExitStack() as stack:
        if transport == HTTP:
            session = await stack.enter_async_context(client(dict(launch.headers)))
            opened = streamable_http_client(
                launch.url, http_client=session, max_sse_event_size=limits.message_bytes
            )
        else:
            opened = sse_client(
                launch.url,
                headers=dict(launch.headers),
                sse_read_timeout=limits.total_seconds,
                httpx_client_factory=client,
            )
        read, write, *_ = await stack.enter_async_context(opened)
        yield read, write


async def attempt(
    launch: LaunchSpec, attempt: Attempt, seen: Seen, transport: str, era: str
) -> Reading:
    """Reach the server over one transport and read it."""
    attempt.progress = lambda: float(seen.received)
    try:
        opened = open_web(launch, transport=transport, seen=seen, limits=attempt.limits)
        async with opened as (read, write):
            attempt.reading = await _talk(read, write, attempt, era=era)
    except (httpx2.HTTPError, httpx2.InvalidURL, ExceptionGroup) as error:
        seen.fault = seen.fault or _said(error)
        attempt.reading = attempt.reading or Reading(COULD_NOT_START, "It hung up.")
    if attempt.reading.read:
        taken_with = {**attempt.reading.taken_with, "transport": transport}
        if seen.auth is not None and seen.auth.signed_in:
            taken_with["signed_in"] = True
        return replace(attempt.reading, taken_with=taken_with)
    return _refused(seen, launch) or attempt.reading


async def _talk(read: Any, write: Any, attempt: Attempt, *, era: str) -> Reading:
    dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(read, write)
    wire = Wire(dispatcher, era, closed=lambda: False)
    attempt.waiting_for = lambda: wire.asked
    async with anyio.create_task_group() as tasks:
        await tasks.start(dispatcher.run, answer_server, ignore_notice)
        try:
            reading = await converse(wire, limits=attempt.limits, list_changes=lambda: 0)
        except ReadingError as error:
            reading = Reading(error.status, error.problem)
        except MCPError as error:
            problem = f"It refused {wire.asked}: {error_text(error)}"
            reading = Reading(COULD_NOT_START, problem)
        tasks.cancel_scope.cancel()
    return reading


def _refused(seen: Seen, launch: LaunchSpec) -> Reading | None:
    """What the HTTP layer knows better than the protocol, None when that is nothing."""
    if seen.fault:
        return Reading(COULD_NOT_START, seen.fault)
    if seen.refusal == 401 and seen.auth is not None and seen.auth.signed_in:
        status = NEEDS_SIGN_IN if seen.auth.needs_person else COULD_NOT_START
        return Reading(status, seen.auth.problem.capitalize())
    if seen.refusal == 401:
        given = any(name.lower() == "authorization" for name in launch.headers)
        problem = "It does not accept the credentials given." if given else "It asks for a sign-in."
        return Reading(NEEDS_SIGN_IN, problem)
    if seen.refusal == 403:
        return Reading(COULD_NOT_START, "It refused access (status 403).")
    if seen.refusal:
        return Reading(COULD_NOT_START, f"It answered with status {seen.refusal}.")
    return None


def _said(error: BaseException) -> str:
    """What the network says, "" when it was not that; raises what is nobody's fault but ours."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, [_said(inner) for inner in error.exceptions]), "")
    if not isinstance(error, _SERVERS_FAULT):
        raise error
    unreachable = isinstance(error, httpx2.TransportError | httpx2.InvalidURL)
    return f"It could not be reached: {error}" if unreachable else ""


def _hush() -> None:
    """Keep the SDK's own log lines, which may hold URLs, off stderr."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
