"""The ASGI application of the team's server: routes, limits, and the protocol over HTTP."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Protocol
from urllib.parse import quote, unquote

import psycopg
from psycopg_pool import ConnectionPool

from app.core.errors import ToolcribError
from app.gateway.backend.web.access import headers_of
from app.gateway.backend.web.exchange import Exchange
from app.gateway.backend.web.peers import recognise
from app.gateway.backend.web.reading import (
    LARGEST_BODY,
    GoneError,
    Receive,
    body_of,
    message_of,
    takes_events,
    unfit,
)
from app.gateway.backend.web.replies import Reply, Send
from app.gateway.backend.web.responding import respond
from app.gateway.backend.web.stateless import header_error, is_stateless
from app.mcp import jsonrpc
from app.mcp.protocol import HANDSHAKE, INTERNAL_ERROR
from app.team_server import refusal
from app.team_server.identity import Caller, Identities, same
from app.team_server.limiting import Buckets
from app.team_server.metrics import Metrics
from app.team_server.refusal import METADATA_PATH, RefusedError, Resource
from app.team_server.routes import fitting
from app.team_server.service import Service, Target, in_thread
from app.team_server.session_id import SessionIds
from app.team_server.sign_ins import CALLBACK
from app.team_server.tracing import Tracing
from store.team.connecting import Connection, is_ready
from store.typed import Json

_SESSION = "mcp-session-id"
_OPERATIONS = ("/healthz", "/readyz", "/metrics")
_DOCUMENTS = (METADATA_PATH, METADATA_PATH + "/mcp")
_TARGETS: Mapping[str, Callable[[str], Target]] = {
    "/mcp": lambda _name: Target(),
    "/mcp/{name}": lambda name: Target(profile=name),
    "/servers/{name}/mcp": lambda name: Target(server=name),
}
_LONGEST_NAME = 100
_READY_SECONDS = 1.0  # that an answer of the database is remembered by /readyz


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request whose caller is known."""

    caller: Caller
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    receive: Receive
    reply: Reply


class Api(Protocol):
    """Answers requests below /v1/."""

    @property
    def routes(self) -> Collection[tuple[str, str]]:
        """Method and path of each, see app.team_server.routes."""

    async def __call__(self, request: Request) -> None:
        """One request. Raises RefusedError."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts that the application is made of."""

    pool: ConnectionPool[Connection]
    resource: Resource
    hosts: frozenset[str]  # values of Host that are taken
    identities: Identities
    sessions: SessionIds
    service: Service
    buckets: Buckets
    metrics: Metrics
    tracing: Tracing
    upstreams: Callable[[], int]  # number of connections
    landing: Callable[[str], str]  # where a browser goes that comes from a sign-in
    metrics_token: str = ""  # "" switches /metrics off


class Application:
    """Answers every request; keeps nothing that another replica would need."""

    def __init__(self, parts: Parts, api: Api) -> None:
        self._parts = parts
        self._api = api
        self.draining = False  # readiness fails, and all else goes on
        self._ready_at, self._ready = 0.0, False
        opened = {("GET", path) for path in (*_OPERATIONS, *_DOCUMENTS, CALLBACK)}
        self.routes = frozenset({*opened, *(("POST", path) for path in _TARGETS), *api.routes})
        self._paths = sorted({path for _, path in self.routes})

    async def __call__(self, scope: Json, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        if scope["type"] != "http":
            return
        began, metrics = time.perf_counter(), self._parts.metrics
        statuses: list[int] = []

        async def counted(event: Json) -> None:
            if event["type"] == "http.response.start":
                statuses.append(event["status"])
            await send(event)

        reply = Reply(counted)
        metrics.under_way += 1
        with self._parts.tracing.request(scope["method"], scope["headers"]) as settled:
            try:
                await self._answer(scope, receive, reply)
            finally:
                metrics.under_way -= 1
                fits = fitting(scope["path"], self._paths)
                route = fits[0] if fits is not None else "other"
                status = statuses[0] if statuses else 499
                metrics.count("requests", route=route, status=str(status))
                metrics.time(route, time.perf_counter() - began)
                settled(route, status)

    async def _answer(self, scope: Json, receive: Receive, reply: Reply) -> None:
        try:
            await self._routed(scope, receive, reply)
        except RefusedError as error:
            await self._refuse(reply, error)
        except (GoneError, TimeoutError):
            if not reply.begun:
                with suppress(TimeoutError):
                    await reply.refuse(408, "The request did not arrive in time.")

    async def _refuse(self, reply: Reply, error: RefusedError) -> None:
        if error.status in (401, 403):
            reply.add_header("www-authenticate", self._parts.resource.challenge(error))
        if error.wait:
            reply.add_header("retry-after", str(error.wait))
        await reply.refuse(error.status, error.text)

    async def _routed(self, scope: Json, receive: Receive, reply: Reply) -> None:
        headers = headers_of(scope["headers"])
        if headers is None:
            raise RefusedError(400, "A header came twice.")
        if "transfer-encoding" in headers and "content-length" in headers:
            raise RefusedError(400, "The request has two lengths.")
        reply.add_header("cache-control", "no-store")
        path = _plain_path(scope)
        if scope["method"] == "GET" and path in _OPERATIONS:
            await self._operate(path, headers, reply)
            return
        self._check_host(headers)
        if scope["method"] == "GET" and path in _DOCUMENTS:
            await reply.whole(200, json.dumps(self._parts.resource.metadata()).encode())
            return
        if scope["method"] == "GET" and path == CALLBACK:
            await self._land((scope.get("query_string") or b"").decode("latin-1"), reply)
            return
        caller = await in_thread(self._parts.identities.caller, headers)
        recognise(scope)
        query = (scope.get("query_string") or b"").decode("latin-1")
        request = Request(caller, scope["method"], path, query, headers, receive, reply)
        await self._limited(request)

    async def _land(self, query: str, reply: Reply) -> None:
        """Send a browser that comes from a sign-in on to the member's own machine."""
        reply.add_header("referrer-policy", "no-referrer")
        try:
            reply.add_header("location", self._parts.landing(query))
        except ToolcribError as error:
            await reply.text(400, error.text, "text/plain; charset=utf-8")
            return
        await reply.whole(302)

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse names of other machines: a page of the web that rebinds its name uses its own."""
        if headers.get("host", "").lower() not in self._parts.hosts:
            raise RefusedError(421, "The Host header names another machine.")
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] not in self._parts.hosts:
            raise RefusedError(403, "The Origin header names another site.")

    async def _limited(self, request: Request) -> None:
        key = request.caller.key
        wait = self._parts.buckets.wait(key)
        if wait:
            raise RefusedError(429, "Too many requests. Try again soon.", wait=ceil(wait))
        if not self._parts.buckets.enter(key):
            raise RefusedError(429, "Too many requests at the same time.", wait=1)
        try:
            if request.path.startswith(("/v1/", "/v0.1/")):
                await self._api(request)
            else:
                await self._mcp(request)
        finally:
            self._parts.buckets.leave(key)

    # ---- for the operator

    async def _operate(self, path: str, headers: Mapping[str, str], reply: Reply) -> None:
        if path == "/healthz":
            await reply.whole(200, b'{"status":"ok"}')
            return
        ready = await self._is_ready()
        if path == "/readyz":
            word = "draining" if self.draining else "ready" if ready else "database away"
            code = 200 if ready and not self.draining else 503
            await reply.whole(code, json.dumps({"status": word}).encode())
            return
        wanted = self._parts.metrics_token
        given = headers.get("authorization", "").partition(" ")[2]
        if not wanted or not same(given, wanted):
            raise RefusedError(404, "There is nothing at this address.")
        text = self._parts.metrics.text(upstreams=self._parts.upstreams(), ready=ready)
        await reply.text(200, text, "text/plain; version=0.0.4; charset=utf-8")

    async def _is_ready(self) -> bool:
        now = time.monotonic()
        if now - self._ready_at > _READY_SECONDS:
            self._ready = await in_thread(is_ready, self._parts.pool)
            self._ready_at = time.monotonic()
        return self._ready

    # ---- the protocol

    async def _mcp(self, request: Request) -> None:
        target = _target(request.path)
        if request.method != "POST":
            request.reply.add_header("allow", "POST")
            raise RefusedError(405, "Methods here: POST.")
        body = await read_body(request)
        message, reason, code = message_of(body)
        if message is None:
            await request.reply.refuse(400, reason, code=code)
        elif is_stateless(request.headers, message):
            await self._stateless(request, target, message)
        else:
            await self._in_session(request, target, message)

    async def _stateless(self, request: Request, target: Target, message: Json) -> None:
        if "method" not in message or "id" not in message:
            await request.reply.whole(202)
            return
        mismatch = header_error(request.headers, message)
        if mismatch is not None:
            await request.reply.whole(400, jsonrpc.dump(mismatch))
            return
        await self._hand_on(request, target, message, modern=True)

    async def _in_session(self, request: Request, target: Target, message: Json) -> None:
        if request.headers.get("mcp-protocol-version", HANDSHAKE[-1]) not in HANDSHAKE:
            raise RefusedError(400, f"Protocol versions here: {', '.join(HANDSHAKE)}.")
        key, member = request.headers.get(_SESSION), request.caller.key
        begins = message.get("method") == "initialize" and "id" in message
        if key is None and begins:
            request.reply.add_header(_SESSION, self._parts.sessions.make(member, str(target)))
        elif key is None:
            raise RefusedError(400, "There is no Mcp-Session-Id; begin with initialize.")
        elif not self._parts.sessions.opens(key, member, str(target)):
            text = "That session has ended; begin with initialize."
            await request.reply.refuse(404, text, code=-32001)
            return
        if "method" in message and "id" in message:
            await self._hand_on(request, target, message, modern=False)
        else:
            await request.reply.whole(202)  # a notification, or an answer to no request of ours

    async def _hand_on(
        self, request: Request, target: Target, message: Json, *, modern: bool
    ) -> None:
        """Work on a request while its client waits; a client that leaves takes it back."""
        exchange = Exchange(message["id"], message["method"])
        service = self._parts.service
        if message["method"] != "tools/call":
            answer = await service.answer(request.caller, target, message, modern=modern)
            _settle(exchange, answer)
            await respond(exchange, request.receive, request.reply, stateless=modern, events=False)
            return

        async def work() -> None:
            try:
                answer = await service.answer(request.caller, target, message, modern=modern)
            except RefusedError as error:
                answer = jsonrpc.error(message["id"], INTERNAL_ERROR, error.text)
            except Exception as error:  # noqa: BLE001 - the client must hear of it, whatever it was
                self._parts.metrics.count("calls", outcome=type(error).__name__)
                text = "The team server could not do this."
                answer = jsonrpc.error(message["id"], INTERNAL_ERROR, text)
            _settle(exchange, answer)

        task = asyncio.ensure_future(work())
        try:
            events = takes_events(request.headers)
            await respond(exchange, request.receive, request.reply, stateless=modern, events=events)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, psycopg.Error):
                await task


def _settle(exchange: Exchange, answer: Json) -> None:
    code = answer["error"].get("code", 0) if "error" in answer else 0
    exchange.end(jsonrpc.dump(answer), code)


async def read_body(request: Request) -> bytes:
    """A POST's body. Raises RefusedError, GoneError, TimeoutError."""
    problem = unfit(request.headers)
    if problem is not None:
        raise RefusedError(*problem)
    body = await body_of(request.receive)
    if body is None:
        raise RefusedError(413, f"A message has at most {LARGEST_BODY:,} bytes.")
    return body


def _plain_path(scope: Json) -> str:
    """The path as it was sent: one that is written in another way than ours names nothing."""
    raw = bytes(scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    return raw if raw == quote(scope["path"], safe="/-._~") else ""


def _target(path: str) -> Target:
    """The profile, or the one server, that an address names. Raises RefusedError."""
    fits = fitting(path, _TARGETS)
    if fits is None or (fits[1] and not _is_name(fits[1])):
        raise refusal.no_right()
    return _TARGETS[fits[0]](unquote(fits[1]))


def _is_name(text: str) -> bool:
    """True if a part of a path, as it was sent, can be the name of a profile or server."""
    plain = unquote(text)
    letters = all(c.isalnum() or c in " .@()+-_" for c in plain)
    return 0 < len(plain) <= _LONGEST_NAME and letters and plain.strip(".") != ""
