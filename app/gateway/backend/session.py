"""One host's session at the backend: the gateway's own loop on a connection instead of pipes."""

import _socket
import threading
from collections.abc import Iterator
from contextlib import suppress

from app.gateway.backend.adapter import ALONE, HUNG_UP, REFUSED
from app.gateway.backend.direct import DirectWay
from app.gateway.backend.handover import GIVEN
from app.gateway.backend.hello import Hello
from app.gateway.backend.outbox import Outbox
from app.gateway.environment import GatewayEnvironment
from app.gateway.gateway import Gateway
from app.gateway.lines import lines_of, messages_of
from app.gateway.options import parse
from app.gateway.serving.host import Host
from app.system.native import native
from store.typed import Any

_LAST_SECONDS = 5.0  # that a host which leaves has for reading its last answers
_LONG = 1 << 16  # bytes of a line that an adapter should not keep after its answer
_MOST_DESCRIPTORS = 8  # that may come with the first line


class AdaptedHost(Host):
    """A host behind an adapter, which learns with each answer which line it answers."""

    def __init__(self, link: "_socket.socket", prefix: str) -> None:
        super().__init__(link.fileno())
        self._outbox = Outbox(link)
        self._direct: DirectWay | None = None
        self.prefix = prefix
        self._number = 0
        self._is_long = False
        self._numbers: dict[tuple[type, Any], int] = {}
        self._long: set[int] = set()  # numbers of lines that the adapter should soon let go

    def send_line(self, line: bytes) -> None:
        """Write one line; never waits for the host, whose servers and clock others share."""
        self._send(line + b"\n", 0)

    def send_answer(self, host_id: object, line: bytes) -> None:
        """Write an answer; the adapter learns which line it answers."""
        self._send(line + b"\n", self._numbers.pop((type(host_id), host_id), 0))

    def _send(self, line: bytes, number: int) -> None:
        with self._writing:
            if self._direct is not None:
                try:
                    if number not in self._long and self._direct.send(line, number):
                        return
                    self._direct.skip()
                except OSError:
                    self.gone = True
                    return
            self._long.discard(number)
            mark = b"#%d\n" % number if number else b""
            if not self._outbox.send(mark + line):
                self.gone = True

    def go_direct(self, descriptors: list[int]) -> DirectWay | None:
        """Write to the host itself from here on, what can be written so."""
        with self._writing, suppress(OSError):
            self._direct = DirectWay(descriptors)
        return self._direct

    def tell(self, word: bytes) -> None:
        """Something for the adapter itself."""
        if not self._outbox.send(word):
            self.gone = True

    def leave(self) -> None:
        """Write to the adapter alone from here on, which may be about to go on by itself."""
        with self._writing:
            direct, self._direct = self._direct, None
            if direct is not None:
                direct.close()

    def close(self) -> None:
        """Hang up once the host has read what it was sent, or does not read."""
        self._outbox.close(_LAST_SECONDS)

    def next_line(self, size: int) -> None:
        """Another line of the host comes; the adapter counts them alike."""
        self._number += 1
        self._is_long = size > _LONG

    def begin(self, host_id: Any) -> None:
        """That line asks for something."""
        self._numbers[type(host_id), host_id] = self._number
        if self._is_long:
            self._long.add(self._number)

    def forget(self, host_id: object) -> None:
        """No answer will be sent; the adapter need not wait for one."""
        super().forget(host_id)
        number = self._numbers.pop((type(host_id), host_id), 0)
        self._long.discard(number)
        if number and not self._outbox.send(b"#%d%s\n" % (number, ALONE)):
            self.gone = True


class Session:
    """A connected host; `run` returns when it is gone."""

    def __init__(
        self, number: int, link: "_socket.socket", hello: Hello, environment: GatewayEnvironment
    ) -> None:
        self.number = number
        self.hello = hello
        self._link = link
        self.host = AdaptedHost(link, f"toolcrib-{environment.tag}-{number}-")
        self.gateway = Gateway(parse(hello.words), self.host, environment)
        self._ended = threading.Event()
        self._is_new = True
        self._is_ending = False
        self._direct: DirectWay | None = None

    @property
    def name(self) -> str:
        """The host's own name for itself, "" until it has greeted."""
        return self.gateway.host_name

    @property
    def ended(self) -> bool:
        """True if the host is gone."""
        return self._ended.is_set()

    def run(self) -> None:
        """Serve until the host closes its end; its servers are let go then."""
        try:
            self.gateway.run(self._lines())
        finally:
            self._ended.set()
            self.host.leave()
            if self._is_ending:
                self.end()
            self.gateway.close()
            self.host.close()
            self._link.close()

    def end(self) -> None:
        """Hang up: the adapter goes on by itself or with the next backend."""
        self._is_ending = True
        if self._direct is not None and not self._ended.is_set():
            how = _socket.SHUT_RD  # who reads of the host leaves off first: no line is lost
        else:
            how = _socket.SHUT_RDWR
        try:
            self._link.shutdown(how)
        except OSError:
            self._ended.set()

    def _lines(self) -> Iterator[bytes]:
        for line in lines_of(self._received):  # the first brings the host's descriptors along
            for message in [line] if self._direct is None else messages_of(line):
                self.host.next_line(len(message))
                yield message

    def _received(self, size: int) -> bytes:
        try:
            if self._is_new:
                return self._first(size)
            return self._directly() if self._direct is not None else self._link.recv(size)
        except OSError:
            return b""

    def _first(self, size: int) -> bytes:
        """Receive the first bytes, and with them the descriptors of a host for direct writes."""
        self._is_new = False
        data, descriptors = native.receive_descriptors(self._link, size, _MOST_DESCRIPTORS)
        if descriptors:
            self._direct = self.host.go_direct(descriptors)
        if data == GIVEN and self._direct is not None:
            self._direct.watch(self._link.fileno())
            return self._directly()
        if data == GIVEN:
            self.host.tell(REFUSED)
            return self._link.recv(size)
        return data

    def _directly(self) -> bytes:
        """The host's next bytes; the adapter is notified when it hangs up."""
        direct = self._direct
        if direct is None:
            return b""
        data = direct.receive()
        if data == b"":
            self.host.tell(HUNG_UP)
        return data or b""
