"""A host that is served alone, since no backend was there in time, moves to one that came later.

Only before it has asked for anything but greetings and lists: nothing is lost then. Its process
becomes an adapter, which takes along the connection and the lines that a later backend must hear.
"""

import _socket
import os
import sys
import time

from app.gateway.backend.attach import call, is_welcome
from app.gateway.backend.rendezvous import MOVED_VARIABLE
from app.gateway.lines import LineSplitter, method_of
from app.system.native import native
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from app.gateway.backend.rendezvous import Place

_CHUNK = 1 << 16
_LONGEST = 1 << 13  # bytes of those lines; every system's pipe takes as many at once
_KEPT = (b"initialize", b"notifications/initialized", b"logging/setLevel")
_NEEDLESS = (b"ping", b"server/discover", b"notifications/cancelled")  # and lists
_SECONDS = 1.0  # between two looks, and that a backend has to answer
_MOST_SECONDS = 60.0  # between looks for one that does not answer


class Move:
    """A host's lines as they come, until its process becomes an adapter."""

    def __init__(self, place: "Place", argv: "Sequence[str]") -> None:
        self._place = place
        self._argv = argv
        self._kept: list[bytes] = []
        self._is_fresh = bool(sys.executable)
        self._pause = _SECONDS
        self._next = 0.0
        self._may_leave: Callable[[], bool] = lambda: False
        self._leave: Callable[[], None] = lambda: None

    def allow(self, may_leave: "Callable[[], bool]", leave: "Callable[[], None]") -> None:
        """Let the host move where `may_leave` says so; `leave` is called before."""
        self._may_leave, self._leave = may_leave, leave

    def lines(self) -> "Iterator[bytes]":
        """Every line of the host; the process is another one, in between, where it moves."""
        splitter = LineSplitter()
        while data := self._received(bool(splitter.rest())):
            for line in splitter.feed(data):
                self._note(line)
                yield line
        yield from splitter.rest()

    def _note(self, line: bytes) -> None:
        """Keep what sets the session up; anything else that it asks for keeps the host here."""
        method = method_of(line)
        if method in _KEPT:
            self._kept = [one for one in self._kept if method_of(one) != method] + [line]
            self._is_fresh = self._is_fresh and sum(map(len, self._kept)) <= _LONGEST
        elif method not in _NEEDLESS and not method.endswith(b"/list") and not line.isspace():
            self._is_fresh = False

    def _received(self, is_within_line: bool) -> bytes:
        """The host's next bytes; while it sends nothing, a backend is looked for."""
        host = native.poller()
        host.register(0, native.READABLE)
        while self._is_fresh and not is_within_line and not host.poll(_SECONDS * 1000):
            if time.monotonic() >= self._next and self._may_leave() and not self._place.off:
                self._try()
        try:
            return os.read(0, _CHUNK)
        except OSError:
            return b""

    def _try(self) -> None:
        """Go where a backend answers before the host says anything more."""
        link = call(self._place, self._argv, "host", waits=False)
        if link is None:
            return
        answers = native.poller()
        for end in (0, link.fileno()):
            answers.register(end, native.READABLE)
        ready = [end for end, _ in answers.poll(_SECONDS * 1000)]
        if ready == [link.fileno()] and is_welcome(link):
            self._become_adapter(link)
        link.close()
        self._pause = min(self._pause * 2, _MOST_SECONDS)
        self._next = time.monotonic() + self._pause

    def _become_adapter(self, link: "_socket.socket") -> None:
        """Returns only where that cannot be."""
        reader, writer = os.pipe()
        whole = b"".join(self._kept)
        os.write(writer, whole)
        os.close(writer)
        for end in (reader, link.fileno()):
            os.set_inheritable(end, True)
        words = self._argv if getattr(sys, "frozen", False) else sys.orig_argv[1:]
        environ = {**os.environ, MOVED_VARIABLE: f"{link.fileno()} {reader}"}
        self._leave()
        try:
            os.execve(sys.executable, [sys.executable, *words], environ)
        except OSError:  # it was removed
            self._is_fresh = False
            os.close(reader)


def arrived(given: str) -> "tuple[_socket.socket | None, list[bytes]]":
    """The connection and the lines that a process which became this one took along.

    Raises ValueError or OSError where `given`, the variable's value, is malformed.
    """
    link, reader = map(int, given.split())
    with os.fdopen(reader, "rb") as file:
        lines = file.read(_LONGEST).splitlines(keepends=True)
    os.set_inheritable(link, False)
    return _socket.socket(fileno=link), lines
