"""Meeting the backend: a greeting over its socket, and its start by the one that is elected.

Part of what each host starts, so nothing here imports more than builtins and `os`.
"""

import _socket
import os
import sys
import time

from app.core.own_code import own_python
from app.gateway.backend.rendezvous import (
    Place,
    backend_program,
    connect,
    ensure_folder,
    hello,
    read_token,
)
from app.system.native import native
from store.files import lock as hold
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START_SECONDS = 5.0  # that a new backend may take to listen, where a host waits for it
_AGAIN_SECONDS = 30.0  # after which another is started; doubled each time while no host waits
_LONGEST_AGAIN = 3600.0
FOREVER = float("inf")
_LONGEST_ANSWER = 4096
_ANSWER_SECONDS = 1.0  # that a backend may take to answer the greeting; hosts give up after 10
_PAUSE, _LONGEST_PAUSE = 0.005, 0.25  # seconds between two looks, where a host waits or none does


def attach(
    place: Place,
    argv: "Sequence[str]",
    role: str = "host",
    *,
    patience: "Callable[[], float]" = lambda: START_SECONDS,
) -> "_socket.socket | None":
    """A connection to the backend, which is started if need be; None where it cannot be had.

    `patience`: the seconds that it may still take, from now on; infinite when no host waits.
    A backend that takes the connection and does not answer is left alone after a second.
    """
    if place.off or not ensure_folder(place.folder):
        return None
    try:
        return _greet(place, argv, role) or _elect(place, argv, role, patience)
    except TimeoutError:
        return None
    except OSError as error:  # a full disk, a read-only file system, a folder in the lock's place
        _tell(f"no backend: {place.lock} cannot be opened ({error.strerror}); serving alone")
        return None


def _tell(text: str) -> None:
    """One line where hosts keep what their servers print."""
    try:
        os.write(2, f"toolcrib-gateway: {text}\n".encode("utf-8", "replace"))
    except OSError:
        return


def _elect(
    place: Place, argv: "Sequence[str]", role: str, patience: "Callable[[], float]"
) -> "_socket.socket | None":
    """Start the backend as the one adapter that holds the lock; the others wait for it."""
    lock = _open_lock(place)
    owner = False
    limit, pause = FOREVER, _PAUSE
    spawned_at, again = -FOREVER, _AGAIN_SECONDS
    try:
        while not place.off:
            now = time.monotonic()
            limit = min(limit, now + patience())
            if now >= limit:
                break
            if not owner:
                owner = _take(lock)
                if owner and not _is_current(lock, place):  # swept away by a backend that ended
                    os.close(lock)
                    lock = -1
                    lock, owner = _open_lock(place), False
                    continue
            link = _greet_in_turn(place, argv, role, waits=limit != FOREVER)
            if link is not None:
                return link
            # the one before may have been killed, or none may ever start
            if owner and now >= spawned_at + (again if limit == FOREVER else _AGAIN_SECONDS):
                again = min(2 * again, _LONGEST_AGAIN) if spawned_at > 0 else again
                spawn(place)
                spawned_at = now
            pause = min(pause * 1.1, _LONGEST_PAUSE) if limit == FOREVER else _PAUSE
            time.sleep(pause)
        return None
    finally:
        if lock >= 0:
            os.close(lock)


def _greet_in_turn(
    place: Place, argv: "Sequence[str]", role: str, *, waits: bool
) -> "_socket.socket | None":
    """A second look: another adapter may have been faster. TimeoutError where a host waits."""
    try:
        return _greet(place, argv, role)
    except TimeoutError:
        if waits:
            raise
        return None


def _open_lock(place: Place) -> int:
    flags = os.O_RDWR | os.O_CREAT | native.OPEN_OWN
    try:
        return os.open(place.lock, flags, 0o600)
    except FileNotFoundError:  # a backend that ended took the empty folder with it
        ensure_folder(place.folder)
        return os.open(place.lock, flags, 0o600)


def _take(lock: int) -> bool:
    try:
        return hold(lock)
    except OSError:
        return False


def _is_current(lock: int, place: Place) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(place.lock, follow_symlinks=False))
    except OSError:
        return False


def spawn(place: Place) -> None:
    """Start the backend in a session of its own."""
    if getattr(sys, "frozen", False):
        own = [backend_program(), "serve"]
    else:
        own = own_python("from app.gateway.main import main; main()", "serve")
    environ = {**os.environ, "TOOLCRIB_HOME": place.home}
    native.start_detached(own[0], own, environ)


def _greet(place: Place, argv: "Sequence[str]", role: str) -> "_socket.socket | None":
    link = call(place, argv, role)
    if link is None:
        return None
    try:
        if _answer_line(link).startswith(b"ok "):
            return link
    except TimeoutError:
        link.close()
        raise
    except OSError:
        pass  # it ended meanwhile
    link.close()
    return None


def call(
    place: Place, argv: "Sequence[str]", role: str, *, waits: bool = True
) -> "_socket.socket | None":
    """A connection over which a backend was greeted; None where none listens.

    It `waits` where so many call that the system lets no more in.
    """
    token = read_token(place)
    link = connect(place, waits=waits) if token else None
    if link is None:
        return None
    try:
        link.sendall(hello(place.build, token, role, argv))
    except OSError:
        link.close()
        return None
    return link


def is_welcome(link: "_socket.socket") -> bool:
    """Wait for the answer to the greeting; True if the backend accepts the connection."""
    try:
        return _answer_line(link).startswith(b"ok ")
    except OSError:
        return False


def _answer_line(link: "_socket.socket") -> bytes:
    """One short line, byte by byte: what follows it belongs to the session."""
    line = b""
    end = time.monotonic() + _ANSWER_SECONDS
    while not line.endswith(b"\n") and len(line) < _LONGEST_ANSWER:
        link.settimeout(max(end - time.monotonic(), 0.001))
        byte = link.recv(1)
        if not byte:
            break
        line += byte
    link.settimeout(None)
    return line
