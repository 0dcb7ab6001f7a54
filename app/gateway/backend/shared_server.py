"""One running server behind several sessions: each hears only what its own requests caused."""

import math
import threading
from collections.abc import Callable
from contextlib import suppress

from app.mcp import jsonrpc
from app.mcp.connection import Connection
from app.mcp.patience import lasts
from app.mcp.protocol import (
    METHOD_NOT_FOUND,
    PROGRESS,
    params_of,
    progress_under,
    with_progress_token,
)
from app.mcp.requests import Channel, OwnRequest, PendingRequest, ServerRequest, UpstreamEvents
from app.mcp.session import CLOSING, LET_GO, Upstream, not_called
from store.typed import Json

_KEEP_SECONDS = 30.0  # that a server without sessions is kept for the next one
_TOKEN = "toolcrib-progress-"
_LOG = "notifications/message"
_UPDATED = "notifications/resources/updated"
REFUSED = "Several sessions share this server, and none of them alone caused this request."


class SharedServer:
    """The upstream itself; sessions hold it through a `SharedUpstream` each."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], Channel],
        *,
        modern: bool,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self.upstream = Upstream(name, launch, self, modern=modern, clock=clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._members: list[SharedUpstream] = []
        self._under_way: dict[int, _SharedRequest] = {}  # by id() of the session's own request
        self._count = 0
        self._left_at = clock()

    # ---- sessions

    def join(self, member: "SharedUpstream") -> None:
        """A session holds the server from here on."""
        with self._lock:
            self._members.append(member)

    def leave(self, member: "SharedUpstream", *, idle: bool = False) -> bool:
        """A session lets go: what it had under way is withdrawn; True if it holds it no more.

        Nothing is done with `idle` where a call is under way.
        """
        with self._lock:
            if member not in self._members:
                return True
            mine = [r for r in self._under_way.values() if r.member is member]
            if idle and not all(map(lasts, mine)):
                return False
            self._members.remove(member)
            self._left_at = self._clock()
            for request in mine:
                self._under_way.pop(id(request.own), None)
        for request in mine:
            self.upstream.cancel(request, {"reason": "Its host is gone."})
        for uri in member.subscribed:
            self._unsubscribe(uri)
        return True

    @property
    def unused(self) -> bool:
        """True after 30 s without sessions."""
        with self._lock:
            return not self._members and self._clock() - self._left_at > _KEEP_SECONDS

    @property
    def members(self) -> int:
        """Number of sessions that hold it."""
        with self._lock:
            return len(self._members)

    def rest(self) -> None:
        """End the server once every session could do without it, and none watches it."""
        with self._lock:
            patience = max((m.patience for m in self._members), default=math.inf)
            watched = any(member.subscribed for member in self._members)
        if not watched and patience < math.inf:
            self.upstream.rest(patience)

    def check(self) -> None:
        """Notice a server that has ended."""
        self.upstream.check()

    def close(self, grace: float) -> None:
        """End the server."""
        self.upstream.close(grace)

    # ---- requests of sessions

    def request(self, member: "SharedUpstream", own: PendingRequest) -> None:
        """Send a session's request under ids and tokens of our own."""
        line, message = own.line, own.message
        with self._lock:
            holds = member in self._members
            if own.progress is not None:
                self._count += 1
                line, message = b"", with_progress_token(message, f"{_TOKEN}{self._count}")
            request = _SharedRequest(self, member, own, line, message)
            if holds:
                self._under_way[id(own)] = request
        if holds:
            self.upstream.request(request)
        else:
            own.failed(not_called(member.left, self.name))

    def cancel(self, own: PendingRequest, params: Json) -> None:
        """Withdraw a session's request."""
        with self._lock:
            request = self._under_way.pop(id(own), None)
        if request is not None:
            self.upstream.cancel(request, params)

    def done(self, request: "_SharedRequest") -> None:
        """A request has its answer."""
        with self._lock:
            self._under_way.pop(id(request.own), None)

    def subscribe(self, member: "SharedUpstream", own: PendingRequest, uri: str) -> None:
        """Watch a resource; the server gets one subscription for all members."""
        member.subscribed.add(uri)
        self.request(member, own)

    def unsubscribe(self, member: "SharedUpstream", own: PendingRequest, uri: str) -> None:
        """Watch it no longer; the server hears of it when the last session leaves it."""
        member.subscribed.discard(uri)
        if self._watchers(uri):
            own.answered(b"", jsonrpc.result(0, {}))
        else:
            self.request(member, own)

    def _unsubscribe(self, uri: str) -> None:
        if not self._watchers(uri) and self.upstream.started:
            message = jsonrpc.request("resources/unsubscribe", {"uri": uri})
            self.upstream.request(OwnRequest(message))

    def _watchers(self, uri: str) -> "list[SharedUpstream]":
        with self._lock:
            return [member for member in self._members if uri in member.subscribed]

    # ---- what the server says (UpstreamEvents)

    def hello(self) -> Json:
        """The handshake of the session that needed it first."""
        events = self._first_events()
        return events.hello() if events else {}

    def stateless(self) -> bool:
        """As that session's host."""
        events = self._first_events()
        return events.stateless() if events else False

    def envelope(self) -> Json:
        """As that session's host."""
        events = self._first_events()
        return events.envelope() if events else {}

    def _first_events(self) -> UpstreamEvents | None:
        with self._lock:
            return self._members[0].events if self._members else None

    def opening_requests(self, _upstream: Upstream) -> list[PendingRequest]:
        """After a restart: the resources that any session watches. Log levels are not shared."""
        with self._lock:
            uris = {uri for member in self._members for uri in member.subscribed}
        requests = (jsonrpc.request("resources/subscribe", {"uri": uri}) for uri in sorted(uris))
        return [OwnRequest(request) for request in requests]

    def ready(self, _upstream: Upstream) -> None:
        """It was started: every session may look at its list."""
        for member in self._all_members():
            member.events.ready(member)

    def down(self, _upstream: Upstream, reason: str, printed: str) -> None:
        """It has gone."""
        for member in self._all_members():
            with suppress(Exception):  # the others must hear of it too
                member.events.down(member, reason, printed)

    def on_request(self, _upstream: Upstream, request: ServerRequest) -> None:
        """A request of the server, to the session that it belongs to."""
        member = self._cause()
        if member is None:
            request.refuse(METHOD_NOT_FOUND, REFUSED)
        else:
            member.events.on_request(member, request)

    def on_notification(self, _upstream: Upstream, line: bytes, message: Json) -> None:
        """A notification, to the sessions that it belongs to."""
        method, uri = message.get("method"), params_of(message).get("uri")
        if method == _LOG:
            members = [member] if (member := self._cause()) else []
        else:
            members = self._all_members()
        for member in members:
            if method != _UPDATED or uri in member.subscribed:
                with suppress(Exception):
                    member.events.on_notification(member, line, message)

    def _all_members(self) -> "list[SharedUpstream]":
        with self._lock:
            return list(self._members)

    def _cause(self) -> "SharedUpstream | None":
        """The one session that has requests under way, None where that is not one."""
        with self._lock:
            members = {id(r.member): r.member for r in self._under_way.values()}
        return next(iter(members.values())) if len(members) == 1 else None


class _SharedRequest(PendingRequest):
    """A session's request as the shared server gets it."""

    __slots__ = ("_server", "member", "own")

    def __init__(
        self,
        server: SharedServer,
        member: "SharedUpstream",
        own: PendingRequest,
        line: bytes,
        message: Json,
    ) -> None:
        super().__init__(line, message, own.seconds)
        self._server = server
        self.member = member
        self.own = own

    def answered(self, line: bytes, answer: Json) -> None:
        """Hand it to the session."""
        self._server.done(self)
        self.own.answered(line, answer)

    def failed(self, reason: str) -> None:
        """Hand it to the session."""
        self._server.done(self)
        self.own.failed(reason)

    def progressed(self, _line: bytes, message: Json) -> None:
        """Hand it to the session, under its own token."""
        self.own.progressed(b"", progress_under(self.own.progress, message))


class SharedUpstream(Upstream):
    """One session's hold of a shared server, used as a server of its own."""

    is_shared = True

    def __init__(self, server: SharedServer, name: str, events: UpstreamEvents) -> None:
        self.name = name
        self.server = server
        self.events = events
        self.subscribed: set[str] = set()
        self.patience = math.inf  # seconds without use, after which the server may end
        self.left = ""  # reason that it holds the server no more
        server.join(self)

    @property
    def _connection(self) -> Connection | None:  # type: ignore[override]
        """The server's, which says what runs and what it greeted with."""
        return self.server.upstream._connection

    @property
    def state(self) -> str:  # type: ignore[override]
        """State of the server's start."""
        return self.server.upstream.state

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Reason that it could not be started or has ended."""
        return self.server.upstream.problem

    @property
    def calls(self) -> int:  # type: ignore[override]
        """Number of tools/call that the running server got, from all sessions."""
        return self.server.upstream.calls

    def request(self, exchange: PendingRequest) -> None:
        """Send a request; one session's log level is not the others'."""
        method = exchange.message.get("method")
        uri = params_of(exchange.message).get("uri")
        if method == "logging/setLevel":
            exchange.answered(b"", jsonrpc.result(0, {}))
        elif method == "resources/subscribe" and isinstance(uri, str):
            self.server.subscribe(self, exchange, uri)
        elif method == "resources/unsubscribe" and isinstance(uri, str):
            self.server.unsubscribe(self, exchange, uri)
        else:
            self.server.request(self, exchange)

    def start(self) -> None:
        """Start the server ahead of its first call."""
        self.server.upstream.start()

    def notify(self, message: Json, line: bytes = b"") -> None:
        """Progress reaches the server; one host's other news is not the others'."""
        if message["method"] == PROGRESS:
            self.server.upstream.notify(message, line)

    def cancel(self, exchange: PendingRequest, params: Json) -> None:
        """Withdraw a request of this session."""
        self.server.cancel(exchange, params)

    def check(self) -> None:
        """The pool looks after the server."""

    def rest(self, seconds: float) -> None:
        """This session could do without the server after so long; all must agree."""
        self.patience = seconds
        self.server.rest()

    def release(self) -> bool:
        """Let go of it once this session has nothing under way; others may hold it."""
        self.left = LET_GO
        return self.server.leave(self, idle=True)

    def stop(self) -> None:
        """End the server for every session."""
        self.server.upstream.stop()

    def close(self, grace: float) -> None:  # noqa: ARG002 - the pool ends the server
        """Let go; the server lives on while others hold it."""
        self.left = CLOSING
        self.server.leave(self)
