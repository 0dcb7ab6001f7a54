"""The HTTP server around the endpoint: uvicorn on a loopback socket, in a thread of its own."""

import asyncio
import socket
import threading

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.gateway.backend.web.access import Access
from app.gateway.backend.web.endpoint import Endpoint
from app.gateway.backend.web.peers import Connection, surplus
from app.gateway.backend.web.sessions import WebSessions
from app.system.threads import start_thread

_ADDRESS = "127.0.0.1"
_HEAD_SECONDS = 10.0  # that a client may take to send a request's head
_LARGEST_HEAD = 64 << 10  # bytes
_BACKLOG = 256  # connections that wait to be taken
_END_SECONDS = 3.0


class _BoundedProtocol(H11Protocol):
    """uvicorn's own, with a time limit on heads: without it a client may send one for ever.

    Of connections that have shown no token the oldest goes where there are too many: a head that
    is meant to end does so at once.
    """

    _limit: asyncio.TimerHandle | None = None
    _connection = Connection(0.0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._connection = Connection(self.loop.time())
        self.app_state = self._connection.state()
        self._expect_head()
        self._make_room()

    def _make_room(self) -> None:
        open_now = [
            one
            for one in self.connections
            if isinstance(one, _BoundedProtocol) and not one.transport.is_closing()
        ]
        oldest = surplus(one._connection for one in open_now)
        for one in open_now:
            if one._connection is oldest:
                one.transport.abort()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head_is_there()
        elif self._limit is None and (before is None or before.response_complete):
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._limit = self.loop.call_later(_HEAD_SECONDS, self._too_slow)

    def _head_is_there(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        self._limit = None
        if not self.transport.is_closing():
            self.transport.close()


class WebServer:
    """Listens from when it is made; raises OSError where the port cannot be had."""

    def __init__(self, sessions: WebSessions, secret: str, port: int) -> None:
        self.sessions = sessions
        # asyncio sends answers without delay (40 ms) only where a socket says that it is TCP
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((_ADDRESS, port))
            self._socket.listen(_BACKLOG)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._server = Server(_config(Endpoint(sessions, Access(secret, self.port))))
        self._thread: threading.Thread = start_thread(self._run)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def close(self) -> None:
        """Take no more requests, and end every session."""
        self.sessions.close()
        self._server.should_exit = True
        self._thread.join(_END_SECONDS)
        self._socket.close()


def _config(endpoint: Endpoint) -> Config:
    return Config(
        endpoint,
        http=_BoundedProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_graceful_shutdown=1,
    )
