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
from mcp_types.jsonrpc import jsonrpc_message_adapter

from app.gateway import wire
from app.gateway.exchange import SIGN_IN
from app.gateway.protocol import HANDSHAKE, INVALID_REQUEST, VERSION_KEY, Json, text_result
from app.hosts.launch import HTTP, LaunchSpec
from app.logs import redact
from app.signin.auth import WANTED, StoredAuth

_CONNECT_SECONDS = 20.0
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_REDIRECTS = (301, 302, 303)
# What the SDK's writer to an older server is told of messages that we answer ourselves: of any
# refusal or error it would end, and no answer ever come.
_TAKEN = 202
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_LATE_SECONDS = 2.0
_REFUSALS = {
    403: "It refused access (status 403).",
    404: "It knows no session or page at this address (status 404).",
}


class RemoteChannel:
    """The same lines as a process's pipes, carried over HTTP."""

    def __init__(
        self,
        launch: LaunchSpec,
        secrets: Iterable[str],
        transport: str = "",
        *,
        auth: StoredAuth,
    ) -> None:
        self._launch = launch
        self._secrets = tuple(secrets)
        self._transport = transport or launch.transport
        self._auth = auth
        self._loop: asyncio.AbstractEventLoop | None = None
        self._outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._version = HANDSHAKE[-1]
        self._received = 0
        self._refusal = 0
        self._fault = ""
        self._on_line: Callable[[bytes], object] = lambda _line: None
        self._end: Callable[[], None] = lambda: None
        self._instead: dict[object, bytes] = {}  # request id -> what is answered for the server
        self._greeted = False
        self._signed_in_anew = False
        self._closed = False

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Start the thread; messages may be sent at once."""
        self._on_line = on_line
        self._thread = threading.Thread(target=self._run, args=(on_line, on_end), daemon=True)
        self._thread.start()
        self._ready.wait(_CONNECT_SECONDS)

    def send(self, line: bytes) -> None:
        """Queue one message."""
        if self._loop is not None and not self._closed:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._outgoing.put_nowait, line)

    def progress(self) -> float:
        """Bytes received."""
        return float(self._received)

    def ended(self) -> bool:
        """Whether the connection is gone."""
        return self._thread is not None and not self._thread.is_alive()

    def said(self) -> str:
        """What the HTTP layer said last, a sentence, redacted."""
        text = self._fault
        if self._refusal == 401:
            text = self._unwelcome()
        elif self._refusal:
            text = _REFUSALS.get(self._refusal, f"It answered with status {self._refusal}.")
        return redact(text, (*self._secrets, *self._auth.values()))

    def printed(self) -> str:
        """Nothing: a server behind a URL has no stderr."""
        return ""

    def close(self, grace: float) -> None:
        """End the session; safe to call twice."""
        self._closed = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._outgoing.put_nowait, None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(grace + 1.0)

    def _unwelcome(self) -> str:
        """What a person can do about a status of 401."""
        auth = self._auth
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
            self._fault = f"It could not be reached: {_first(group)}"
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._fault = self._fault or "It hung up."
        self._ready.set()
        on_end("closed the connection")

    async def _talk(self, on_line: Callable[[bytes], bool]) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._streams() as (read, write), anyio.create_task_group() as tasks:
            self._end = self._auth.on_refused = tasks.cancel_scope.cancel
            self._ready.set()
            tasks.start_soon(self._read, read, on_line, tasks.cancel_scope)
            while True:
                line = await self._outgoing.get()
                if line is None:
                    break
                await write.send(self._message(json.loads(line)))
            tasks.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
        headers = dict(self._launch.headers)
        self._auth.on_answer = self._note
        async with contextlib.AsyncExitStack() as stack:
            if self._transport == HTTP:
                client = httpx2.AsyncClient(headers=headers, timeout=timeout, auth=self._auth)
                session = await stack.enter_async_context(client)
                opened = streamable_http_client(self._launch.url, http_client=session)
            else:

                def made(
                    headers: dict[str, str] | None = None,
                    timeout: httpx2.Timeout | None = timeout,
                    auth: httpx2.Auth | None = None,
                ) -> httpx2.AsyncClient:
                    auth = auth or self._auth
                    return _Sender(self._lost, headers=headers, timeout=timeout, auth=auth)

                opened = sse_client(
                    self._launch.url,
                    headers=headers,
                    sse_read_timeout=24 * 3600.0,
                    httpx_client_factory=made,
                )
            read, write, *_ = await stack.enter_async_context(opened)
            yield read, write

    async def _note(self, response: httpx2.Response) -> None:
        self._refusal = response.status_code if response.status_code >= 400 else 0
        self._received += 1
        older = self._transport != HTTP and response.request.method == "POST"
        if older and response.status_code in _REDIRECTS:
            self._refusal = response.status_code  # the SDK follows none to another host
        if self._refusal in (0, 401):
            return
        answers: dict[object, bytes] = {}
        wanted = self._auth.lacking(response)
        if wanted is not None:
            answers = _answers(response.request, await self._more_rights(wanted))
        if not older:
            self._instead |= answers
        else:
            response.status_code = _TAKEN
            text = f"{self._auth.server}: {self.said()}"
            self._answer((answers or _answers(response.request, text)).values())
            if self._forgotten:
                self._end()

    def _lost(self, request: httpx2.Request, error: httpx2.TransportError) -> httpx2.Response:
        """Answer for an older server that a message did not reach, or not for certain.

        Where that cannot be made up for, the session ends and the next call opens another.
        """
        reason = redact(str(error) or type(error).__name__, (*self._secrets, *self._auth.values()))
        unsent = isinstance(error, _UNSENT)
        text = "It could not be reached" if unsent else "The connection broke, it may have run"
        answers = _answers(request, f"{self._auth.server}: {text}: {reason}")
        if not self._greeted or not (answers or _may_be_lost(request)):
            self._refusal, self._fault = 0, f"It could not be reached: {reason}"
            self._end()
        else:
            # a server that took the message answers on the other connection
            later = 0.0 if unsent else _LATE_SECONDS
            asyncio.get_running_loop().call_later(later, self._answer, list(answers.values()))
        return httpx2.Response(_TAKEN, request=request)

    def _answer(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._on_line(line)

    async def _read(
        self, read: Any, on_line: Callable[[bytes], bool], scope: anyio.CancelScope
    ) -> None:
        async for item in read:
            if isinstance(item, Exception):
                self._fault = f"{type(item).__name__}: {item}"[:300]
                continue
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            self._received += len(line)
            if self._instead:
                line = self._mended(line)
            if not self._greeted:
                self._greet(line)
            on_line(line)
            if self._forgotten and not self._instead:
                break
        scope.cancel()

    async def _more_rights(self, wanted: str) -> str:
        """What is said to a call that needs rights which the sign-in lacks."""
        server = self._auth.server
        if await self._auth.newer():
            self._signed_in_anew = True
            return f"Somebody has signed in to {server} again meanwhile: call it once more."
        await self._auth.lacks(wanted)
        named = f" ({wanted})" if wanted else ""
        return f"{SIGN_IN}{server} in Toolcrib: it asks for more rights{named}."

    @property
    def _forgotten(self) -> bool:
        """Whether the session is of no use any more: the next call opens another."""
        return self._greeted and (self._refusal == 404 or self._signed_in_anew)

    def _mended(self, line: bytes) -> bytes:
        """What is answered for the server, where this is its refusal."""
        message = json.loads(line)
        return line if "method" in message else self._instead.pop(message.get("id"), line)

    def _greet(self, line: bytes) -> None:
        result = json.loads(line).get("result")
        if isinstance(result, dict) and ("protocolVersion" in result or "capabilities" in result):
            self._greeted = True
            self._version = str(result.get("protocolVersion") or self._version)

    def _message(self, message: Json) -> SessionMessage:
        """The message with the headers that its protocol revision wants."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        headers = {"mcp-protocol-version": self._version}
        if isinstance(meta, dict) and VERSION_KEY in meta:
            method = str(message.get("method"))
            headers = {"mcp-protocol-version": str(meta[VERSION_KEY]), "mcp-method": method}
            if method in _NAMED and _NAMED[method] in params:
                headers["mcp-name"] = str(params[_NAMED[method]])
        parsed = jsonrpc_message_adapter.validate_python(message)
        return SessionMessage(parsed, ClientMessageMetadata(headers=headers))


class _Sender(httpx2.AsyncClient):
    """Sends to an older server; `lost` is what a message gets that was not delivered."""

    def __init__(
        self,
        lost: Callable[[httpx2.Request, httpx2.TransportError], httpx2.Response],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._lost = lost

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response to a request. Raises TransportError for anything but a message (POST)."""
        try:
            return await super().send(request, **options)
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            return self._lost(request, error)


def _answers(request: httpx2.Request, text: str) -> dict[object, bytes]:
    """What is answered, by its id, to a request that the server refused; {} for anything else."""
    asked = _sent(request)
    if "id" not in asked or "method" not in asked:
        return {}
    if asked.get("method") == "tools/call":
        answer = wire.result(asked["id"], text_result(text, is_error=True))
    else:
        answer = wire.error(asked["id"], INVALID_REQUEST, text)
    return {asked["id"]: wire.dump(answer)}


def _may_be_lost(request: httpx2.Request) -> bool:
    """Whether nobody waits for what this message does."""
    return _sent(request).get("method") in ("notifications/cancelled", "notifications/progress")


def _sent(request: httpx2.Request) -> Json:
    """The message of a request; {} when it has none."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return message if isinstance(message, dict) else {}


def _first(group: BaseExceptionGroup[Any]) -> str:
    """The innermost first reason of a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)[:300] or type(error).__name__
