"""A server behind a URL (streamable HTTP or SSE), through the SDK's transports in a thread."""

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types.jsonrpc import JSONRPCError, jsonrpc_message_adapter

from app.core.logs import redact
from app.hosts.launch import HTTP, LaunchSpec
from app.mcp import jsonrpc
from app.mcp.bodies import Bodies
from app.mcp.limits import Bounds
from app.mcp.protocol import (
    CANCELLED,
    HANDSHAKE,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROGRESS,
    VERSION_KEY,
    meta_of,
    params_of,
    text_result,
)
from app.mcp.requests import SIGN_IN
from app.signin.auth import WANTED, StoredAuth
from app.system.threads import start_thread
from store.typed import Json, object_or_empty

_CONNECT_SECONDS = 20.0
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_REDIRECTS = (301, 302, 303)
# Status for the SDK's writer to an older server, for messages that we answer ourselves: of any
# refusal or error it would end, and no answer ever come.
_TAKEN = 202
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_LATE_SECONDS = 2.0
_NO_MESSAGE = "It sent something that is not a message of the protocol."
_REFUSALS = {
    403: "It refused access (status 403).",
    404: "It knows no session or page at this address (status 404).",
}


class RemoteChannel:
    """A server behind a URL, with the interface of a process's pipes."""

    def __init__(
        self,
        launch: LaunchSpec,
        secrets: Iterable[str],
        transport: str = "",
        *,
        auth: StoredAuth | None,
        bounds: Bounds | None = None,
        transport_of: Callable[[], httpx2.AsyncBaseTransport] | None = None,
    ) -> None:
        """`transport_of` makes what requests go through, instead of the system's proxies."""
        self.fault = False
        self.junk_lines = 0
        self.refusal = 0  # the last status of 400 or more
        self.auth = auth
        self._launch = launch
        self._secrets = tuple(secrets)
        self._transport_of = transport_of
        self._transport = transport or launch.transport
        self._bodies = Bodies(bounds or Bounds(), self._too_large)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._early: list[bytes | None] = []  # what was sent before the loop ran
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._version = HANDSHAKE[-1]
        self._trouble = ""  # the network's last error
        self._end_reason = "closed the connection"
        self._on_line: Callable[[bytes], object] = lambda _line: None
        self._end: Callable[[], None] = lambda: None
        self._instead: dict[object, bytes] = {}  # request id -> what is answered for the server
        self._greeted = False
        self._signed_in_anew = False
        self._closed = False

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Start the thread; messages may be sent at once."""
        self._on_line = on_line
        self._thread = start_thread(self._run, on_line, on_end)

    def send(self, line: bytes) -> None:
        """Queue one message."""
        if not self._closed:
            self._queue(line)

    def _queue(self, line: bytes | None) -> None:
        with self._starting:
            if self._loop is None:
                self._early.append(line)
                return
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(self._outgoing.put_nowait, line)

    def progress(self) -> float:
        """Bytes received."""
        return float(self._bodies.received)

    def ended(self) -> bool:
        """True if the connection is gone."""
        return self._thread is not None and not self._thread.is_alive()

    def last_line(self) -> str:
        """The last sentence: there are no lines here."""
        return self.last_sentence()

    def last_sentence(self) -> str:
        """Last sentence of the HTTP layer, redacted."""
        text = self._trouble
        if self.refusal == 401 and self.auth is not None:
            text = self._sign_in_advice(self.auth)
        elif self.refusal:
            text = _REFUSALS.get(self.refusal, f"It answered with status {self.refusal}.")
        return self.redacted(text)

    def redacted(self, text: str) -> str:
        """A text of the server without secrets, tokens of the sign-in among them."""
        return redact(text, (*self._secrets, *(self.auth.values() if self.auth else ())))

    def printed(self) -> str:
        """Return "": a server behind a URL has no stderr."""
        return ""

    def pids(self) -> tuple[int, ...]:
        """Return (): the server is elsewhere."""
        return ()

    def close(self, grace: float, _hurry: Callable[[], bool] = lambda: False) -> None:
        """End the session; safe to call twice."""
        self._closed = True
        self._queue(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(grace + 1.0)

    def _sign_in_advice(self, auth: StoredAuth) -> str:
        """Advice to a person after a status of 401."""
        if auth.problem and not auth.needs_person:
            return f"{auth.problem[:1].upper()}{auth.problem[1:]}"
        why = auth.problem or WANTED
        if not auth.signed_in and any(n.lower() == "authorization" for n in self._launch.headers):
            why = "it does not accept the Authorization header it was given."
        return f"{SIGN_IN}{auth.server} in Toolcrib: {why}"

    # ---- the thread

    def _run(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        for name in ("mcp", "httpx2", "httpcore2"):  # their lines may hold URLs
            logging.getLogger(name).addHandler(logging.NullHandler())
        try:
            anyio.run(self._talk, on_line)
        except* (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as group:
            if not self.fault:
                self._trouble = _unreached(_first(group))
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._trouble = self._trouble or "It hung up."
        except* Exception as group:  # noqa: BLE001 - who waits must hear of it, whatever it was
            self._trouble = f"It could not be understood: {_first(group)}"
        finally:
            on_end(self._end_reason)

    async def _talk(self, on_line: Callable[[bytes], bool]) -> None:
        with self._starting:
            self._loop = asyncio.get_running_loop()
            for line in self._early:
                self._outgoing.put_nowait(line)
        async with anyio.create_task_group() as tasks:
            self._end = tasks.cancel_scope.cancel
            if self.auth is not None:
                self.auth.on_refused = tasks.cancel_scope.cancel
            async with self._streams() as (read, write):
                tasks.start_soon(self._read, read, on_line, tasks.cancel_scope)
                while (line := await self._outgoing.get()) is not None:
                    await self._write(write, line)
                tasks.cancel_scope.cancel()

    async def _write(self, write: Any, line: bytes) -> None:
        message = json.loads(line)
        try:
            sent = self._message(message)
        except ValueError:  # which the SDK does not send, whatever a host may mean by it
            if "id" in message and "method" in message:
                text = "The request is not one that can be sent over HTTP."
                self._on_line(jsonrpc.dump(jsonrpc.error(message["id"], INVALID_REQUEST, text)))
            return
        await write.send(sent)

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        headers = {"Accept-Encoding": "gzip", **self._launch.headers}
        async with contextlib.AsyncExitStack() as stack:
            if self._transport == HTTP:
                session = await stack.enter_async_context(self._client(headers))
                opened = streamable_http_client(
                    self._launch.url,
                    http_client=session,
                    max_sse_event_size=self._bodies.bounds.message,
                )
            else:
                opened = sse_client(
                    self._launch.url,
                    headers=headers,
                    sse_read_timeout=24 * 3600.0,
                    httpx_client_factory=self._client,
                )
            read, write, *_ = await stack.enter_async_context(opened)
            yield read, write

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,  # noqa: ARG002 - the SDK's, which is ours to set
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        # hooks for bounds: a transport of our own would turn the system's proxies off
        hooks = [self._bodies.bound]
        if self.auth is not None:
            self.auth.on_answer = self._note
        else:
            hooks.append(self._note)
        return _Sender(
            self._lost if self._transport != HTTP else None,
            headers=headers,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            auth=auth or self.auth,
            event_hooks={"response": hooks},
            transport=self._transport_of() if self._transport_of is not None else None,
        )

    def _too_large(self, reason: str) -> None:
        """End the session for what the server sent."""
        self.fault, self._end_reason = True, reason
        self._end()

    async def _note(self, response: httpx2.Response) -> None:
        self.refusal = response.status_code if response.status_code >= 400 else 0
        older = self._transport != HTTP and response.request.method == "POST"
        if older and response.status_code in _REDIRECTS:
            self.refusal = response.status_code  # the SDK follows none to another host
        if self.refusal in (0, 401):
            return
        answers: dict[object, bytes] = {}
        auth = self.auth
        wanted = auth.lacking(response) if auth is not None else None
        if auth is not None and wanted is not None:
            answers = _answers(response.request, await self._lacks_rights(auth, wanted))
        if not older:
            self._instead |= answers
        else:
            response.status_code = _TAKEN
            text = self._named(self.last_sentence())
            self._answer((answers or _answers(response.request, text)).values())
            if self._session_lost:
                self._end()

    def _lost(self, request: httpx2.Request, error: httpx2.TransportError) -> httpx2.Response:
        """Answer for an older server that a message did not reach, or not for certain.

        Where that cannot be made up for, the session ends and the next call opens another.
        """
        reason = self.redacted(str(error) or type(error).__name__)
        unsent = isinstance(error, _UNSENT)
        text = "It could not be reached" if unsent else "The connection broke, it may have run"
        answers = _answers(request, self._named(f"{text}: {reason}"))
        if not self._greeted or not (answers or _may_be_lost(request)):
            self.refusal, self._trouble = 0, _unreached(reason)
            self._end()
        else:
            # a server that took the message answers on the other connection
            later = 0.0 if unsent else _LATE_SECONDS
            asyncio.get_running_loop().call_later(later, self._answer, list(answers.values()))
        return httpx2.Response(_TAKEN, request=request)

    def _named(self, text: str) -> str:
        return f"{self.auth.server}: {text}" if self.auth is not None else text

    def _answer(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._on_line(line)

    async def _read(
        self, read: Any, on_line: Callable[[bytes], bool], scope: anyio.CancelScope
    ) -> None:
        async for item in read:
            if isinstance(item, Exception):
                self._trouble = _NO_MESSAGE
                self.junk_lines += 1
                if self._transport == HTTP:  # there the SDK answers the request itself
                    continue
                break
            message = item.message
            if isinstance(message, JSONRPCError) and message.error.code == PARSE_ERROR:
                message.error.message = _NO_MESSAGE  # instead of the validator's report
            line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            if self._instead:
                line = self._or_refusal(line)
            if not self._greeted:
                self._greet(line)
            on_line(line)
            if self._session_lost and not self._instead:
                break
        scope.cancel()

    async def _lacks_rights(self, auth: StoredAuth, wanted: str) -> str:
        """Sentence for a call that needs rights which the sign-in lacks."""
        server = auth.server
        if await auth.newer():
            self._signed_in_anew = True
            return f"There is a new sign-in to {server}: call it once more."
        await auth.lacks(wanted)
        named = f" ({wanted})" if wanted else ""
        return f"{SIGN_IN}{server} in Toolcrib: it asks for more rights{named}."

    @property
    def _session_lost(self) -> bool:
        """True if the session is of no use any more: the next call opens another."""
        return self._greeted and (self.refusal == 404 or self._signed_in_anew)

    def _or_refusal(self, line: bytes) -> bytes:
        """The answer in the server's place, if this line is its refusal; else the line."""
        message = json.loads(line)
        return line if "method" in message else self._instead.pop(message.get("id"), line)

    def _greet(self, line: bytes) -> None:
        result = json.loads(line).get("result")
        if isinstance(result, dict) and ("protocolVersion" in result or "capabilities" in result):
            self._greeted = True
            self._version = str(result.get("protocolVersion") or self._version)

    def _message(self, message: Json) -> SessionMessage:
        """The message with the headers that its protocol revision wants."""
        params, meta = params_of(message), meta_of(message)
        headers = {"mcp-protocol-version": self._version}
        if VERSION_KEY in meta:
            method = str(message.get("method"))
            headers = {"mcp-protocol-version": str(meta[VERSION_KEY]), "mcp-method": method}
            if method in _NAMED and _NAMED[method] in params:
                headers["mcp-name"] = str(params[_NAMED[method]])
        parsed = jsonrpc_message_adapter.validate_python(message)
        return SessionMessage(parsed, ClientMessageMetadata(headers=headers))


class _Sender(httpx2.AsyncClient):
    """`lost` is what a message to an older server gets that was not delivered, if that matters."""

    def __init__(
        self,
        lost: Callable[[httpx2.Request, httpx2.TransportError], httpx2.Response] | None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._lost = lost

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response to a request. Raises TransportError for anything but a message (POST)."""
        try:
            return await super().send(request, **options)
        except httpx2.TransportError as error:
            if self._lost is None or request.method != "POST":
                raise
            return self._lost(request, error)


def _answers(request: httpx2.Request, text: str) -> dict[object, bytes]:
    """Answers, by id, to a request that the server refused; {} for anything else."""
    message = _sent(request)
    if "id" not in message or "method" not in message:
        return {}
    if message.get("method") == "tools/call":
        answer = jsonrpc.result(message["id"], text_result(text, is_error=True))
    else:
        answer = jsonrpc.error(message["id"], INVALID_REQUEST, text)
    return {message["id"]: jsonrpc.dump(answer)}


def _may_be_lost(request: httpx2.Request) -> bool:
    """True if no caller waits for the effect of this message."""
    return _sent(request).get("method") in (CANCELLED, PROGRESS)


def _sent(request: httpx2.Request) -> Json:
    """The message of a request; {} when it has none."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return object_or_empty(message)


def _unreached(reason: str) -> str:
    """Sentences on a server that did not answer, and what to do."""
    plain = reason.removesuffix(".")
    return f"It could not be reached: {plain}. Check its URL, and that the server runs."


def _first(group: BaseExceptionGroup[Any]) -> str:
    """The innermost first reason of a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)[:300] or type(error).__name__
