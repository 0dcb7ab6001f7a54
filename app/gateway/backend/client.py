"""A program of the user asking the backend something: its state, to end, a ranking."""

import _socket
import json
import time

from app.gateway.backend.attach import attach, hello
from app.gateway.backend.rendezvous import (
    CONTROL,
    STATUS,
    Place,
    connect,
    read_token,
    supported,
)
from store.typed import Json

_SECONDS = 10.0


def request(place: Place, *words: str, seconds: float = _SECONDS) -> Json | None:
    """The backend's answer, None where no backend runs or it hung up."""
    token = read_token(place) if supported() else ""
    link = connect(place) if token else None
    if link is None:
        return None
    try:
        link.settimeout(seconds)
        link.sendall(hello(place.build, token, CONTROL, words))
        return _answer(_whole(link))
    except OSError:
        return None
    finally:
        link.close()


def start(place: Place, seconds: float = _SECONDS) -> bool:
    """Have a backend that answers, started if none does; False where it cannot be had."""
    link = attach(place, (STATUS,), time.monotonic() + seconds, CONTROL)
    if link is not None:
        link.close()
    return link is not None


def _whole(link: "_socket.socket") -> bytes:
    parts: list[bytes] = []
    while part := link.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _answer(data: bytes) -> Json | None:
    status, _, body = data.partition(b"\n")
    if not status.startswith(b"ok "):
        return None
    value = json.loads(body)
    return value if isinstance(value, dict) else None
