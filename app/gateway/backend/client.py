"""A program of the user asking the backend something: its state, to end, a ranking.

A hook imports this at each prompt: what only others need is imported where it is used.
"""

import _socket

from app.gateway.backend.rendezvous import (
    CONTROL,
    STATUS,
    Place,
    connect,
    hello,
    read_token,
    supported,
)
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 10.0


def request(
    place: Place,
    *words: str,
    seconds: float = _SECONDS,
    has_answered: "Callable[[_socket.socket], bool] | None" = None,
) -> Json | None:
    """The backend's answer, None where no backend runs or it hung up, before its end too.

    `has_answered` waits for one that takes its time; the answer is None where it returns False.
    """
    import json

    body = exchange(place, *words, seconds=seconds, has_answered=has_answered)
    try:
        value = json.loads(body or b"null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def exchange(
    place: Place,
    *words: str,
    seconds: float = _SECONDS,
    has_answered: "Callable[[_socket.socket], bool] | None" = None,
) -> bytes | None:
    """The backend's answer as JSON text, None where no backend runs or it hung up."""
    token = read_token(place) if supported() else ""
    link = connect(place) if token else None
    if link is None:
        return None
    try:
        link.settimeout(seconds)
        link.sendall(hello(place.build, token, CONTROL, words))
        if has_answered is not None and not has_answered(link):
            return None
        status, _, body = _whole(link).partition(b"\n")
    except OSError:
        return None
    finally:
        link.close()
    return body if status.startswith(b"ok ") else None


def listens(place: Place) -> bool:
    """True if a backend takes connections, be it one that does not answer."""
    link = connect(place) if supported() else None
    if link is not None:
        link.close()
    return link is not None


def start(place: Place, seconds: float = _SECONDS) -> bool:
    """Have a backend that answers, started if none does; False where it cannot be had."""
    import time

    from app.gateway.backend.attach import attach

    limit = time.monotonic() + seconds
    while True:
        link = attach(place, (STATUS,), CONTROL, patience=lambda: limit - time.monotonic())
        if link is not None:
            link.close()
            return True
        # one that listens may be busy at its first request, or compile its modules
        if time.monotonic() >= limit or place.off or not listens(place):
            return False


def _whole(link: "_socket.socket") -> bytes:
    parts: list[bytes] = []
    while part := link.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)
