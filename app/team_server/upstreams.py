"""Servers behind the team's gateway: connections by server and credential, held while used."""

import asyncio
import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import httpx2

from app.core.errors import ToolcribError
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from app.mcp import limits
from app.mcp.listing import Listing
from app.mcp.protocol import HANDSHAKE, METHOD_NOT_FOUND
from app.mcp.requests import Channel, OwnRequest, PendingRequest, ServerRequest
from app.mcp.session import Upstream, close_all
from app.system.threads import start_thread
from app.team_server.url_guard import GuardedTransport, Note, UrlGuard
from store.definitions import same_definition
from store.typed import Json

_MOST = 256  # connections of a replica; the one used least lately makes room
_IDLE_SECONDS = 300.0
_LIST_SECONDS = 60.0  # that a server's list is taken to be as it was
_TICK_SECONDS = 1.0
_UNAUTHORISED = 401
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
Settled = TypeVar("Settled")
Launch = Callable[[Note], Channel]  # a connection, which notes the statuses of its requests
_NAME = "toolcrib-team"
# of the server's own process, which a program that the operator lists may see
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP")


@dataclass(frozen=True, slots=True)
class Target:
    """One server with one credential."""

    organisation: int
    server: str
    member: int  # whose credential it is, 0 for the organisation's or none
    digest: str  # of the launch, credential included
    spec: LaunchSpec = field(compare=False)


class RefusedCredentialError(ToolcribError):
    """A server did not do a request: the credential does not count there (status 401)."""


class _Client:
    """The gateway as a server's client: it offers nothing that a member would have to answer."""

    def hello(self) -> Json:
        """The params of initialize."""
        info = {"name": _NAME, "version": "1"}
        return {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": info}

    def stateless(self) -> bool:
        """Return False: every server takes a handshake."""
        return False

    def envelope(self) -> Json:
        """The reserved keys of _meta for a stateless server."""
        from app.mcp.protocol import CAPABILITIES_KEY, CLIENT_INFO_KEY, MODERN, VERSION_KEY

        info = {"name": _NAME, "version": "1"}
        return {VERSION_KEY: MODERN, CLIENT_INFO_KEY: info, CAPABILITIES_KEY: {}}

    def opening_requests(self, _upstream: Upstream) -> list[PendingRequest]:
        """Return []: nothing is sent before a call."""
        return []

    def ready(self, _upstream: Upstream) -> None:
        """Called before a server's first call."""

    def on_request(self, _upstream: Upstream, request: ServerRequest) -> None:
        """Refuse a server's own requests: there is no person here."""
        request.refuse(METHOD_NOT_FOUND, "The team's gateway does not answer requests of servers.")

    def on_notification(self, _upstream: Upstream, _line: bytes, _message: Json) -> None:
        """Called with what a server announces; its list is read at its age."""

    def down(self, _upstream: Upstream, _reason: str, _printed: str) -> None:
        """Called when a server is gone; the calls under way fail by themselves."""


class Held:
    """One connection and the list that it was last seen with."""

    def __init__(self, name: str, launch: Launch) -> None:
        self.upstream = Upstream(name, lambda: launch(self._note), _Client())
        self.used = time.monotonic()
        self.refuses = False  # its last answer was that the credential does not count
        self._refused: set[object] = set()  # requests that it refused so, and therefore did not do
        self.listed: dict[str, Json] | None = None
        self.listed_at = -math.inf
        self.changes = -1
        self.doubted: dict[str, Json] = {}  # trusted definitions that the list was read again for

    @property
    def fresh(self) -> bool:
        """True if its list need not be read again."""
        recent = time.monotonic() - self.listed_at < _LIST_SECONDS
        return self.listed is not None and recent and self.changes == self.upstream.list_changes

    def _note(self, request: httpx2.Request, status: int) -> None:
        self.refuses = status == _UNAUTHORISED
        if self.refuses and request.method == "POST":
            self._refused.add(_id_of(request))

    def has_refused(self, request: PendingRequest) -> bool:
        """True if the server did not do a request, for the credential does not count there."""
        known = request.sent_id in self._refused
        self._refused.discard(request.sent_id)
        return known or (self.refuses and not request.sent_id)


class Upstreams:
    """All connections of a replica; usable from any thread."""

    def __init__(self, guard: UrlGuard, programs: Mapping[str, tuple[str, ...]]) -> None:
        """`programs`: commands that the operator lists, by the name that a server's spec uses."""
        self._guard = guard
        self._programs = dict(programs)
        self._lock = threading.Lock()
        self._held: dict[Target, Held] = {}
        self._ended = threading.Event()
        self._ticker = start_thread(self._tick)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, target: Target) -> Held:
        """The connection to a server, made when it is first needed. Raises ToolcribError."""
        launch = self._launch(target.spec)
        with self._lock:
            held = self._held.get(target)
            if held is None:
                held = self._held[target] = Held(target.server, launch)
            held.used = time.monotonic()
            extra = self._least_used() if len(self._held) > _MOST else None
        if extra is not None:
            start_thread(extra.upstream.close, 0.0)
        return held

    def _least_used(self) -> Held:
        return self._held.pop(min(self._held, key=lambda one: self._held[one].used))

    def _launch(self, spec: LaunchSpec) -> Launch:
        if spec.transport in (HTTP, SSE):
            self._guard.check_text(spec.url)
            return lambda note: self._remote_channel(spec, note)
        command = self._programs.get(spec.command)
        if spec.transport != STDIO or command is None:
            raise ToolcribError(
                "This server is a program, and the team server may not start it.",
                "Ask who runs the team server to list it with --program.",
            )
        return lambda _note: _program(command)

    def _remote_channel(self, spec: LaunchSpec, note: Note) -> Channel:
        from app.mcp.http import RemoteChannel

        return RemoteChannel(
            spec,
            spec.secret_values(),
            auth=None,
            transport_of=lambda: GuardedTransport(self._guard, note),
        )

    def close(self, grace: float = 1.0) -> None:
        """End every server."""
        self._ended.set()
        with self._lock:
            held, self._held = list(self._held.values()), {}
        close_all([one.upstream for one in held], grace)
        self._ticker.join(5.0)

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            now = time.monotonic()
            with self._lock:
                idle = [key for key, one in self._held.items() if now - one.used > _IDLE_SECONDS]
                ending = [self._held.pop(key) for key in idle]
                held = list(self._held.values())
            for one in ending:
                start_thread(one.upstream.close, 1.0)
            for one in held:
                one.upstream.check()


def _program(command: tuple[str, ...]) -> Channel:
    """A program that the operator lists, in an environment without the team server's secrets."""
    from app.mcp.stdio import StdioChannel
    from app.system.processes import prepare

    environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    words = list(command)
    while len(words) > 1 and _ASSIGNMENT.match(words[0]):  # as a shell reads VARIABLE=value
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    return StdioChannel(prepare(words[0], words[1:], environ=environ))


async def listed(held: Held) -> dict[str, Json]:
    """The server's present tools by name. Raises ToolcribError."""
    if held.fresh and held.listed is not None:
        return held.listed
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[list[Json] | None] = loop.create_future()
    changes = held.upstream.list_changes

    def done(entries: list[Json] | None) -> None:
        loop.call_soon_threadsafe(_settle, ready, entries)

    listing = Listing(held.upstream, "tools/list", done, start_seconds=limits.START_TOTAL)
    listing.start()
    entries = await ready
    if entries is None and held.refuses:
        raise RefusedCredentialError(f"{held.upstream.name} does not take the credential.")
    if entries is None:
        raise ToolcribError(listing.problem or f"{held.upstream.name} could not be reached.")
    held.listed = {str(one.get("name")): one for one in entries if isinstance(one, dict)}
    held.listed_at, held.changes = time.monotonic(), max(changes, held.upstream.list_changes)
    return held.listed


async def is_trusted(held: Held, name: str, trusted: Json) -> bool:
    """True if the server lists the tool as the team's catalogue has it."""
    if _lists(await listed(held), name, trusted):
        return True
    if held.doubted.get(name) == trusted:
        return False
    held.doubted[name] = trusted
    held.listed = None  # the review may be of a list that is younger than this one
    return _lists(await listed(held), name, trusted)


def _lists(entries: Mapping[str, Json], name: str, trusted: Json) -> bool:
    present = entries.get(name)
    return present is not None and same_definition(present, trusted)


async def call(held: Held, name: str, arguments: Json) -> Json:
    """A tool's answer as a JSON-RPC message. Raises ToolcribError."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[Json | str] = loop.create_future()

    def settle(value: Json | str) -> None:
        loop.call_soon_threadsafe(_settle, ready, value)

    message: Json = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    request = OwnRequest(message, answered=settle, failed=settle, seconds=limits.SILENT_CALL)
    request.start_seconds = limits.START_TOTAL
    held.upstream.request(request)
    try:
        answer = await ready
    except asyncio.CancelledError:
        held.upstream.cancel(request, {"reason": "The client has left."})
        raise
    finally:
        held.used = time.monotonic()
    if held.has_refused(request):
        raise RefusedCredentialError(f"{held.upstream.name} does not take the credential.")
    if isinstance(answer, str):
        raise ToolcribError(answer)
    return answer


def _id_of(request: httpx2.Request) -> object:
    """The id of the message that a request carries, None for none."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    return message.get("id") if isinstance(message, dict) else None


def _settle(future: "asyncio.Future[Settled]", value: Settled) -> None:
    if not future.done():
        future.set_result(value)
