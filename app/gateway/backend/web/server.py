"""The HTTP server around the endpoint: uvicorn on a loopback socket, in a thread of its own."""

import asyncio
import socket
import threading

from uvicorn import Server

from app.gateway.backend.web.access import Access
from app.gateway.backend.web.bounded import bounded_config
from app.gateway.backend.web.endpoint import Endpoint
from app.gateway.backend.web.sessions import WebSessions
from app.system.threads import start_thread

_ADDRESS = "127.0.0.1"
_BACKLOG = 256  # connections that wait to be taken
_END_SECONDS = 3.0


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
        endpoint = Endpoint(sessions, Access(secret, self.port))
        self._server = Server(bounded_config(endpoint, end_seconds=1))
        self._thread: threading.Thread = start_thread(self._run)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def close(self) -> None:
        """Take no more requests, and end every session."""
        self.sessions.close()
        self._server.should_exit = True
        self._thread.join(_END_SECONDS)
        self._socket.close()
