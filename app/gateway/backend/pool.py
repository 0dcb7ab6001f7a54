"""Objects that the sessions of one backend share: the encoder, and servers that may be shared."""

import secrets
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from app.core.scrubber import Scrubber
from app.gateway.backend.hello import Hello
from app.gateway.backend.launch_key import launch_key
from app.gateway.backend.shared_server import SharedServer, SharedUpstream
from app.gateway.environment import GatewayEnvironment
from app.gateway.outgoing import ResultHistory
from app.gateway.sharing import PER_HOST, PER_SESSION, SHARED
from app.mcp.requests import Channel, UpstreamEvents
from app.mcp.session import Upstream
from app.system.threads import start_thread
from store.serving import ServerRow

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder
    from app.hooks.small_talk import SmallTalk

_IDLE_GRACE = 2.0  # seconds that an idle server has to exit


class Pool:
    """Made once a backend; usable from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, str], SharedServer] = {}
        self.secret = secrets.token_bytes(32)
        self._encoder_lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._small_talk: SmallTalk | None = None
        self.tag = secrets.token_hex(4)
        self.scrubber = Scrubber()
        self._seen: weakref.WeakValueDictionary[int, ResultHistory] = weakref.WeakValueDictionary()

    def environment(self, session: int, hello: Hello) -> "SessionEnvironment":
        """Surroundings of a session's gateway in this process."""
        return SessionEnvironment(self, session, hello)

    @property
    def loaded_encoder(self) -> "Encoder | None":
        """The one encoder, None as long as it is not loaded; never waits."""
        return self._encoder

    def encoder(self, load: "Callable[[], Encoder | None]") -> "Encoder | None":
        """The one encoder of the process; the first session that needs it waits for its loading."""
        with self._encoder_lock:
            if self._encoder is None:
                self._encoder = load()
            return self._encoder

    def seen(self, host: int) -> ResultHistory:
        """Results that the host of that process id got from its servers, through any entry."""
        with self._lock:
            seen = self._seen.get(host) if host > 1 else None  # its parent is gone at 1
            if seen is None:
                seen = ResultHistory()
                if host > 1:
                    self._seen[host] = seen
            return seen

    def small_talk(self, load: "Callable[[], SmallTalk]") -> "SmallTalk":
        """The one of the process; the first session that needs it waits for its encoding."""
        with self._encoder_lock:
            if self._small_talk is None:
                self._small_talk = load()
            return self._small_talk

    def share(
        self,
        row: ServerRow,
        scope: str,
        key: str,
        launch: Callable[[], Channel],
        *,
        modern: bool,
    ) -> SharedServer:
        """The running or coming server of that key in that scope ("" for all hosts)."""
        with self._lock:
            server = self._servers.get((scope, key))
            if server is None:
                server = SharedServer(row.name, launch, modern=modern, clock=self.clock)
                self._servers[scope, key] = server
            return server

    def servers(self) -> list[SharedServer]:
        """Every server that sessions share."""
        with self._lock:
            return list(self._servers.values())

    def tick(self) -> None:
        """Once a second: notice servers that ended, and end those without sessions."""
        with self._lock:
            unused = [key for key, server in self._servers.items() if server.unused]
            ending = [self._servers.pop(key) for key in unused]
        for server in ending:
            start_thread(server.close, _IDLE_GRACE)
        for server in self.servers():
            with suppress(Exception):  # the clock must go on, and look after the others
                server.check()

    def close(self) -> None:
        """End every shared server."""
        from app.mcp.session import close_all

        close_all([server.upstream for server in self.servers()], _IDLE_GRACE)


class SessionEnvironment(GatewayEnvironment):
    """The surroundings of a host that is connected to the backend."""

    def __init__(self, pool: Pool, session: int, hello: Hello) -> None:
        super().__init__(hello.environ, hello.folder, pool.clock)
        self._pool = pool
        self._session = session
        self._hello = hello
        self.tag = pool.tag
        self.seen = pool.seen(hello.parent)
        self.scrubber = pool.scrubber  # who started a shared server is another session

    @property
    def project_folder(self) -> str:
        """The host's folder; the backend's own is never a project."""
        return self.folder

    def upstream(
        self,
        name: str,
        row: ServerRow | None,
        command: Sequence[str],
        events: UpstreamEvents,
        *,
        modern: bool,
    ) -> Upstream:
        """A server of this session alone, or its part of a shared one."""
        scope = self._scope(row)
        if row is None or scope is None:
            return super().upstream(name, row, command, events, modern=modern)
        key = launch_key(row, command, self.environ, self.folder, secret=self._pool.secret)
        server = self._pool.share(row, scope, key, self.launcher(row, command), modern=modern)
        return SharedUpstream(server, name, events)

    def _scope(self, row: ServerRow | None) -> str | None:
        """Key of the sessions that share a server; None where it is not shared."""
        choice = PER_SESSION if row is None else self._choice(row)
        if choice == SHARED:
            return ""
        return f"host {self._hello.parent}" if choice == PER_HOST else None

    def _choice(self, row: ServerRow) -> str:
        from app.gateway.stored_sharing import sharing_of

        return sharing_of(self.database, row).choice

    def loaded_encoder(self) -> "Encoder | None":
        """The process's own, if it is there."""
        return self._pool.loaded_encoder

    def load_encoder(self) -> "Encoder | None":
        """The process's own encoder."""
        return self._pool.encoder(super().load_encoder)

    def load_small_talk(self, encoder: "Encoder") -> "SmallTalk":
        """The process's own."""
        load = super().load_small_talk
        return self._pool.small_talk(lambda: load(encoder))
