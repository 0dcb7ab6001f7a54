"""One host's session at the backend: the gateway's own loop on a connection instead of pipes."""

import _socket
import threading
from collections.abc import Iterator

from app.gateway.backend.adapter import ALONE
from app.gateway.backend.hello import Hello
from app.gateway.backend.outbox import Outbox
from app.gateway.gateway import Gateway
from app.gateway.lines import lines_of
from app.gateway.options import parse
from app.gateway.outside import Outside
from app.gateway.serving.host import Host
from store.typed import Any

_LAST_SECONDS = 5.0  # that a host which leaves has for reading its last answers


class AdaptedHost(Host):
    """A host behind an adapter, which learns with each answer which line it answers."""

    def __init__(self, link: "_socket.socket", prefix: str) -> None:
        super().__init__(link.fileno())
        self._outbox = Outbox(link)
        self.prefix = prefix
        self._number = 0
        self._numbers: dict[tuple[type, Any], int] = {}

    def send_line(self, line: bytes) -> None:
        """Write one line; never waits for the host, whose servers and clock others share."""
        if not self._outbox.send(line + b"\n"):
            self.gone = True

    def close(self) -> None:
        """Hang up once the host has read what it was sent, or does not read."""
        self._outbox.close(_LAST_SECONDS)

    def next_line(self) -> None:
        """Another line of the host comes; the adapter counts them alike."""
        self._number += 1

    def begin(self, host_id: Any) -> None:
        """That line asks for something."""
        self._numbers[type(host_id), host_id] = self._number

    def mark(self, host_id: object) -> bytes:
        """What stands before the answer to that request."""
        number = self._numbers.pop((type(host_id), host_id), 0)
        return b"#%d\n" % number if number else b""

    def forget(self, host_id: object) -> None:
        """No answer will be sent; the adapter need not wait for one."""
        super().forget(host_id)
        mark = self.mark(host_id)
        if mark:
            self.send_line(mark[:-1] + ALONE)


class Session:
    """A connected host; `run` returns when it is gone."""

    def __init__(self, number: int, link: "_socket.socket", hello: Hello, outside: Outside) -> None:
        self.number = number
        self.hello = hello
        self._link = link
        self.host = AdaptedHost(link, f"toolcrib-{outside.tag}-{number}-")
        self.gateway = Gateway(parse(hello.words), self.host, outside)
        self._ended = threading.Event()

    @property
    def name(self) -> str:
        """The host's own name for itself, "" until it has greeted."""
        return self.gateway.host_name

    def run(self) -> None:
        """Serve until the host closes its end; its servers are let go then."""
        try:
            self.gateway.run(self._lines())
        finally:
            self._ended.set()
            self.gateway.close()
            self.host.close()
            self._link.close()

    def end(self) -> None:
        """Hang up: the adapter goes on by itself or with the next backend."""
        try:
            self._link.shutdown(_socket.SHUT_RDWR)
        except OSError:
            self._ended.set()

    def _lines(self) -> Iterator[bytes]:
        for line in lines_of(self._received):
            self.host.next_line()
            yield line

    def _received(self, size: int) -> bytes:
        try:
            return self._link.recv(size)
        except OSError:
            return b""
