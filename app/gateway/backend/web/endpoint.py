"""The endpoint itself, an ASGI application: Streamable HTTP of 2025-11-25 and of 2026-07-28."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.endpoint import behind_of, target_of
from app.gateway.backend.web.access import Access, headers_of
from app.gateway.backend.web.exchange import Exchange
from app.gateway.backend.web.peers import MOST_REQUESTS, Requests, recognise
from app.gateway.backend.web.reading import (
    LARGEST_BODY,
    GoneError,
    Receive,
    body_of,
    message_of,
    takes_events,
    unfit,
)
from app.gateway.backend.web.replies import EVENTS, Reply, Send
from app.gateway.backend.web.responding import respond, stream_events
from app.gateway.backend.web.session import WebSession
from app.gateway.backend.web.sessions import Target, WebSessions
from app.gateway.backend.web.stateless import header_error, is_stateless
from app.mcp import jsonrpc
from app.mcp.protocol import HANDSHAKE, meta_of, progress_token
from store.typed import Json

_SESSION = "mcp-session-id"


class Endpoint:
    """Answers every request; what may not come in is refused before its body is read."""

    def __init__(self, sessions: WebSessions, access: Access) -> None:
        self._sessions = sessions
        self._access = access
        self._requests = Requests()

    async def __call__(self, scope: Json, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        if scope["type"] != "http":
            return
        reply = Reply(send)
        try:
            await self._admit(scope, receive, reply)
        except (GoneError, TimeoutError):
            if not reply.begun:
                await reply.refuse(408, "The request did not arrive in time.")

    async def _admit(self, scope: Json, receive: Receive, reply: Reply) -> None:
        headers = headers_of(scope["headers"])
        if headers is None:
            await reply.refuse(400, "A header came twice.")
            return
        refusal = self._access.local(headers)
        target = _target(scope)
        if refusal is None and target is None:
            refusal = 404, "There is nothing at this address."
        if refusal is None and target is not None:
            refusal = self._access.allowed(headers, target[0])
        if refusal is not None or target is None:
            status, reason = refusal or (404, "")
            if status == 401:
                reply.add_header("www-authenticate", "Bearer")
            await reply.refuse(status, reason)
            return
        recognise(scope)
        address = (scope.get("client") or ("", 0))[0]
        with self._requests.counted((address, target[0])) as fits:
            if fits:
                await self._handle(scope["method"], _Request(target, headers, receive, reply))
            else:
                await reply.refuse(503, f"You have {MOST_REQUESTS} requests under way already.")

    async def _handle(self, method: str, request: "_Request") -> None:
        handler = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
        handle = handler.get(method)
        if handle is None:
            await _refuse_method(request.reply, "POST, GET, DELETE")
        else:
            await handle(request)

    # ---- methods

    async def _post(self, request: "_Request") -> None:
        reply = request.reply
        refusal = unfit(request.headers)
        if refusal is not None:
            await reply.refuse(*refusal)
            return
        body = await body_of(request.receive)
        if body is None:
            await reply.refuse(413, f"A message has at most {LARGEST_BODY:,} bytes.")
            return
        message, reason, code = message_of(body)
        if message is None:
            await reply.refuse(400, reason, code=code)
        elif is_stateless(request.headers, message):
            await self._stateless(request, message)
        else:
            await self._in_session(request, message)

    async def _stateless(self, request: "_Request", message: Json) -> None:
        if "method" not in message or "id" not in message:
            await request.reply.whole(202)  # this revision has no notifications of clients
            return
        mismatch = header_error(request.headers, message)
        if mismatch is not None:
            await request.reply.whole(400, jsonrpc.dump(mismatch))
            return
        session = self._sessions.stateless(request.target, meta_of(message))
        await _hand_on(session, message, request, stateless=True)

    async def _in_session(self, request: "_Request", message: Json) -> None:
        if request.headers.get("mcp-protocol-version", HANDSHAKE[-1]) not in HANDSHAKE:
            await request.reply.refuse(400, f"Protocol versions here: {', '.join(HANDSHAKE)}.")
            return
        session = self._session(request)
        if request.key is None and message.get("method") == "initialize" and "id" in message:
            new_key, session = self._sessions.open(request.target)
            request.reply.add_header(_SESSION, new_key)
        if session is None:
            await _refuse_session(request)
        elif "method" in message and "id" in message:
            await _hand_on(session, message, request, stateless=False)
        else:
            session.take(session.host.translated(message))
            await request.reply.whole(202)

    def _session(self, request: "_Request") -> WebSession | None:
        """The session that a request names, None where it names none, or one that has ended."""
        return self._sessions.get(request.target, request.key) if request.key is not None else None

    async def _get(self, request: "_Request") -> None:
        reply, session = request.reply, self._session(request)
        if request.key is None:
            await _refuse_method(reply, "POST")  # only a session has a stream
        elif session is None:
            await _refuse_session(request)
        elif not takes_events(request.headers):
            await reply.refuse(406, f"This is {EVENTS}.")
        else:
            stream = Exchange()
            session.host.listen(stream)
            try:
                await reply.events()
                await reply.alive()
                await stream_events(stream, request.receive, reply)
            finally:
                session.host.unlisten(stream)

    async def _delete(self, request: "_Request") -> None:
        if request.key is None:
            await _refuse_method(request.reply, "POST")  # only a session can be ended
        elif self._sessions.end(request.target, request.key):
            await request.reply.whole(200)
        else:
            await _refuse_session(request)


@dataclass(frozen=True, slots=True)
class _Request:
    """One HTTP request that may come in, and its reply."""

    target: Target
    headers: Mapping[str, str]
    receive: Receive
    reply: Reply

    @property
    def key(self) -> str | None:
        """The id of its session, None where it names none."""
        return self.headers.get(_SESSION)


async def _refuse_method(reply: Reply, allowed: str) -> None:
    reply.add_header("allow", allowed)
    await reply.refuse(405, f"Methods here: {allowed}.")


async def _refuse_session(request: _Request) -> None:
    reply = request.reply
    if request.key is None:
        await reply.refuse(400, "There is no Mcp-Session-Id; begin with initialize.")
    else:
        await reply.refuse(404, "That session has ended; begin with initialize.", code=-32001)


async def _hand_on(
    session: WebSession, message: Json, request: _Request, *, stateless: bool
) -> None:
    """Hand a request to the gateway and what comes of it to the client."""
    exchange = Exchange(message["id"], message["method"], progress_token(message))
    number, own = session.host.open(message, exchange)
    session.take(own)
    try:
        events = takes_events(request.headers)
        await respond(exchange, request.receive, request.reply, stateless=stateless, events=events)
    except (GoneError, TimeoutError):
        # closing the stream takes a request back; in a session it says nothing
        if stateless:
            session.withdraw(number)
        raise
    finally:
        session.host.leave(number)


def _target(scope: Json) -> Target | None:
    """Target of a URL, None where it is none of ours."""
    named = target_of(scope.get("raw_path") or b"")
    try:
        behind = behind_of((scope.get("query_string") or b"").decode("ascii"))
    except ValueError:
        return None
    return (*named, behind) if named is not None else None
