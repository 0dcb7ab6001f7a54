"""HTTP/1.1 with a time limit on heads, and a bound on connections without a token."""

import asyncio
from collections.abc import Awaitable, Callable

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.gateway.backend.web.peers import Connection, surplus

_LARGEST_HEAD = 64 << 10  # bytes
_HEAD_SECONDS = 10.0  # that a client may take to send a request's head


class BoundedProtocol(H11Protocol):
    """uvicorn's own, with a time limit on heads: without it a client may send one for ever.

    Of connections that have shown no token the oldest goes where there are too many: a head that
    is meant to end does so at once.
    """

    _limit: asyncio.TimerHandle | None = None
    _connection = Connection(0.0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a head from now on."""
        super().connection_made(transport)
        self._connection = Connection(self.loop.time())
        self.app_state = self._connection.state()
        self._expect_head()
        self._make_room()

    def _make_room(self) -> None:
        open_now = [
            one
            for one in self.connections
            if isinstance(one, BoundedProtocol) and not one.transport.is_closing()
        ]
        oldest = surplus(one._connection for one in open_now)
        for one in open_now:
            if one._connection is oldest:
                one.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes in; a whole head ends the wait."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head_is_there()
        elif self._limit is None and (before is None or before.response_complete):
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait."""
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


def bounded_config(
    application: Callable[..., Awaitable[None]],
    *,
    end_seconds: int,
    most_connections: int | None = None,
    log_level: str | None = None,
) -> Config:
    """uvicorn's settings for an ASGI application of ours: bounded heads, nothing that it can spare.

    Requests under way have `end_seconds` at the end.
    """
    return Config(
        application,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        log_level=log_level,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=most_connections,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_graceful_shutdown=end_seconds,
    )
