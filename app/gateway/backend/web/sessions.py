"""The conversations over HTTP: by session id, or by the program that asks without one."""

import secrets
import threading
from collections.abc import Callable

from app.gateway.backend.hello import Hello
from app.gateway.backend.web.session import WebSession
from app.gateway.environment import GatewayEnvironment
from app.gateway.options import Options
from app.mcp import jsonrpc
from app.mcp.protocol import CAPABILITIES_KEY, CLIENT_INFO_KEY
from app.system.threads import start_thread
from store.typed import Json

_MOST = 64  # sessions, of which the one used least lately makes room
_IDLE_SECONDS = 1800.0  # without a request or an open stream
Target = tuple[str, str, tuple[str, ...] | None]  # profile, server, servers that it may reach
EnvironmentMaker = Callable[[int, Hello], GatewayEnvironment]


class WebSessions:
    """Made once for each time that the endpoint is switched on; usable from any thread."""

    def __init__(
        self,
        environment: EnvironmentMaker,
        number: Callable[[], int],
        environ: dict[str, str],
        folder: str,
    ) -> None:
        self._environment = environment
        self._number = number
        self._environ = environ
        self._folder = folder
        self._lock = threading.Lock()
        self._sessions: dict[tuple[Target, str], WebSession] = {}

    def open(self, target: Target) -> tuple[str, WebSession]:
        """A new session and its id."""
        key = secrets.token_hex(16)
        return key, self._begin(target, key, stateless=False)

    def get(self, target: Target, key: str) -> WebSession | None:
        """The session of that id at that URL."""
        with self._lock:
            return self._sessions.get((target, f"id {key}"))

    def stateless(self, target: Target, meta: Json) -> WebSession:
        """The one that serves a program without sessions; what it says of itself tells programs
        apart, so that no two of them ever share a server's state or each other's messages."""
        about = [meta.get(CLIENT_INFO_KEY), meta.get(CAPABILITIES_KEY)]
        return self._begin(target, jsonrpc.dump(about).decode(), stateless=True)

    def end(self, target: Target, key: str) -> bool:
        """End a session; whether there was one."""
        with self._lock:
            session = self._sessions.pop((target, f"id {key}"), None)
        if session is not None:
            session.end()
        return session is not None

    def all(self) -> list[WebSession]:
        """Every session, the oldest first."""
        with self._lock:
            return list(self._sessions.values())

    def tick(self) -> None:
        """Once a second: end sessions that were unused for long."""
        with self._lock:
            idle = [key for key, one in self._sessions.items() if one.idle(_IDLE_SECONDS)]
            ending = [self._sessions.pop(key) for key in idle]
        for session in ending:
            session.end()

    def close(self) -> None:
        """End all; the caller closes their gateways."""
        for session in self.all():
            session.end()

    def _begin(self, target: Target, name: str, *, stateless: bool) -> WebSession:
        key = target, f"{'program' if stateless else 'id'} {name}"
        with self._lock:
            known = self._sessions.get(key)
            if known is not None:
                return known
            oldest = self._oldest() if len(self._sessions) >= _MOST else None
            session = self._sessions[key] = self._made(target, stateless=stateless)
        if oldest is not None:
            oldest.end()
        start_thread(self._run, key, session)
        return session

    def _oldest(self) -> WebSession:
        """The one that is used least lately, taken out."""
        rows = [(one.host.busy, one.used, key) for key, one in self._sessions.items()]
        return self._sessions.pop(min(rows)[2])

    def _made(self, target: Target, *, stateless: bool) -> WebSession:
        number = self._number()
        profile, server, behind = target
        # no process is behind a URL: a number below 0 is no child's, and no other session's host
        hello = Hello("http", -number, self._folder, (), self._environ)
        options = Options(profile, server, (), behind)
        environment = self._environment(number, hello)
        return WebSession(number, options, hello, environment, stateless=stateless)

    def _run(self, key: tuple[Target, str], session: WebSession) -> None:
        try:
            session.run()
        finally:
            with self._lock:
                if self._sessions.get(key) is session:
                    del self._sessions[key]
