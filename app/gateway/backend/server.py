"""`toolcrib-gateway serve`: the process behind all hosts of one user, and its life."""

import os
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.core.safe_write import write_file
from app.gateway.backend.control import answer_control
from app.gateway.backend.hello import Hello, read_hello
from app.gateway.backend.leftovers import sweep
from app.gateway.backend.pool import Pool
from app.gateway.backend.ranking import Rankings
from app.gateway.backend.rendezvous import (
    CONTROL,
    ROUTE,
    Place,
    connect,
    descriptor_text,
    ensure_folder,
)
from app.gateway.backend.sampling import Sampling
from app.gateway.backend.session import Session
from app.gateway.backend.suggesting import SUGGEST, Suggestions
from app.gateway.backend.switch import HttpSwitch
from app.system.ending import on_end
from app.system.native import native
from app.system.threads import import_typing, start_thread

if TYPE_CHECKING:
    from app.gateway.backend.web.session import WebSession

IDLE_SECONDS = 300.0  # without a host, before the process ends
_IDLE_VARIABLE = "TOOLCRIB_BACKEND_IDLE"  # seconds, for tests
_TICK = 1.0
_BACKLOG = 128
_SWITCH = 0.0005  # seconds; at Python's 0.005 a message waits that long for a busy thread


class Backend:
    """Accepts connections; one thread a host, one clock for all."""

    def __init__(
        self,
        place: Place,
        listener: socket.socket,
        token: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = place
        self._listener = listener
        self._token = token
        self._lock = threading.Lock()
        self._sessions: dict[int, Session] = {}
        self._count = 0
        self._clock = clock
        self._idle_since = clock()
        self._idle_seconds = float(os.environ.get(_IDLE_VARIABLE, IDLE_SECONDS))
        self._stopping = threading.Event()
        self._wake, self._waker = socket.socketpair()
        self._inode = os.stat(place.socket).st_ino
        self.started = time.time()
        self.pool = Pool(clock)
        self.suggestions = Suggestions(self.pool)
        self.rankings = Rankings(self.pool)
        self.sampling = Sampling()
        self.http = HttpSwitch(self.pool.environment, self._next_number, place.build)

    def accept(self) -> None:
        """Take connections until the process ends."""
        while not self._stopping.is_set():
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            start_thread(self._greet, link)

    def _greet(self, link: socket.socket) -> None:
        try:
            if native.peer_id(link) != native.user_id():
                link.close()
                return
            hello = read_hello(link, self._place.build, self._token)
            if hello.role == CONTROL:
                answer_control(self, link, hello)
                link.close()
                if hello.words[:1] in ((SUGGEST,), (ROUTE,)):
                    self._touch()
                return
            session = self._enter(link, hello)
        except (ToolcribError, OSError, SystemExit) as error:
            _refuse(link, str(error))
            return
        if session is None:
            _refuse(link, "It is ending.")
            return
        try:
            session.run()
        finally:
            self._leave(session)

    def _enter(self, link: socket.socket, hello: Hello) -> Session | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            self._count += 1
            session = Session(self._count, link, hello, self.pool.environment(self._count, hello))
            link.sendall(b"ok %d\n" % os.getpid())
            self._sessions[session.number] = session
        return session

    def _leave(self, session: Session) -> None:
        with self._lock:
            self._sessions.pop(session.number, None)
        self._touch()

    def _touch(self) -> None:
        """Note the time of the last use."""
        with self._lock:
            self._idle_since = self._clock()

    def _next_number(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def sessions(self) -> "list[Session | WebSession]":
        """The hosts that are connected, the oldest first; those with an adapter before others."""
        over_http = self.http.sessions()
        with self._lock:
            return [*self._sessions.values(), *over_http]

    def stop(self) -> None:
        """End soon: no new hosts, those connected are let go."""
        self._stopping.set()
        with suppress(OSError):
            self._waker.send(b"s")

    def watch(self, signalled: socket.socket) -> None:
        """The clock: ticks of sessions and servers, and the end of the process.

        A signal, whose number comes out of `signalled`, ends it at once.
        """
        while True:
            ready, _, _ = select.select([signalled, self._wake], [], [], _TICK)
            if self.tick() or ready:
                self._end()

    def tick(self) -> bool:
        """Once a second; True when the process is not needed any more."""
        for session in self.sessions():
            session.gateway.tick()
        self.pool.tick()
        self.suggestions.tick()
        self.http.tick()
        return self._is_idle() or self._is_displaced()

    def _is_idle(self) -> bool:
        if self.http.holds or self.http.sessions():
            self._touch()
            return False
        with self._lock:
            idle = self._clock() - self._idle_since > self._idle_seconds
            if self._sessions or not idle:
                return False
            self._stopping.set()  # under the lock: no session enters from here on
            return True

    def _is_displaced(self) -> bool:
        """True if our socket is gone or another's, and no session is left: no new one can come."""
        return not self._has_socket() and not self.sessions()

    def _has_socket(self) -> bool:
        try:
            return os.stat(self._place.socket).st_ino == self._inode
        except OSError:
            return False

    def _end(self) -> None:
        self._stopping.set()
        if self._has_socket():  # else they are another backend's
            for path in (self._place.socket, self._place.descriptor):
                with suppress(OSError):
                    os.unlink(path)
        sessions = self.sessions()
        for session in sessions:
            session.end()
        self.http.close()
        threads = [start_thread(session.gateway.close) for session in sessions]
        for thread in threads:
            thread.join(5.0)
        try:
            self.suggestions.close()
            self.rankings.close()
            self.pool.close()
            sweep(self._place)
        finally:
            os._exit(0)


def serve() -> None:
    """Be the backend, unless there is one; ends by itself when it is not needed any more."""
    sys.setswitchinterval(_SWITCH)
    import_typing()
    place = Place(home_folder())
    if not ensure_folder(place.folder):
        raise SystemExit(f"{place.folder} must be a folder that only you can enter (0700).")
    other = connect(place)
    if other is not None:
        other.close()
        return
    listener = _listen(place)
    token = secrets.token_hex(32)
    write_file(place.descriptor, descriptor_text(place, token).encode("ascii"), mode=0o600)
    with suppress(OSError):
        sweep(place)
    backend = Backend(place, listener, token)
    signalled = _signals()
    start_thread(backend.accept)
    backend.watch(signalled)


def _listen(place: Place) -> socket.socket:
    """The listening socket; what a dead backend left in its place is removed."""
    with suppress(FileNotFoundError):
        os.unlink(place.socket)
    listener = socket.socket(native.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(place.socket)
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener


def _refuse(link: socket.socket, reason: str) -> None:
    with suppress(OSError):
        link.sendall(b"no " + reason.replace("\n", " ").encode("utf-8", "replace") + b"\n")
    link.close()


def _signals() -> socket.socket:
    """Receiver of the number of a signal that asks the process to end.

    Setting an event in a handler would be seen a tick later only, or deadlock a wait for it.
    """
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    on_end(wake=sender.detach())
    return receiver
