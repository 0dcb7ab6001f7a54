"""The first bytes of a connection to the backend, read and checked."""

import _socket
import os
from dataclasses import dataclass
from hmac import compare_digest

from app.core.errors import ToolcribError
from app.gateway.backend.rendezvous import PROTOCOL

_SECONDS = 10.0  # that it may take
_LONGEST_LINE = 512
_LONGEST_BODY = 4 << 20  # bytes of arguments and environment


@dataclass(frozen=True, slots=True)
class Hello:
    """Who connected: a host's adapter, or a program of the user's that asks something."""

    role: str
    parent: int  # pid of the adapter's parent, which is the host
    folder: str
    words: tuple[str, ...]
    environ: dict[str, str]


def read_hello(link: "_socket.socket", build: str, token: str) -> Hello:
    """The greeting of a new connection.

    Raises ToolcribError for another build, a wrong token or bytes of no such form.
    """
    link.settimeout(_SECONDS)
    head = _line(link)
    words = head.split(" ")
    if len(words) != 6 or words[0] != f"toolcrib/{PROTOCOL}":
        raise ToolcribError("It does not speak the backend's protocol.")
    _, role, their_build, their_token, count, size = words
    if not compare_digest(their_token.encode(), token.encode()):
        raise ToolcribError("It does not know the backend's token.")
    if their_build != build:
        raise ToolcribError("It is another build of Toolcrib.")
    if not (count.isdigit() and size.isdigit()) or int(size) > _LONGEST_BODY:
        raise ToolcribError("Its greeting has no usable size.")
    fields = _exactly(link, int(size)).split(b"\0")
    link.settimeout(None)
    if len(fields) < 2 + int(count):
        raise ToolcribError("Its greeting is cut short.")
    texts = [os.fsdecode(field) for field in fields]
    pairs = (text.partition("=") for text in texts[2 + int(count) :])
    return Hello(
        role,
        int(texts[0]) if texts[0].isdigit() else 0,
        texts[1],
        tuple(texts[2 : 2 + int(count)]),
        {name: value for name, equals, value in pairs if equals},
    )


def _line(link: "_socket.socket") -> str:
    data = b""
    while not data.endswith(b"\n"):
        byte = link.recv(1)
        if not byte or len(data) > _LONGEST_LINE:
            raise ToolcribError("The connection closed before its greeting.")
        data += byte
    return data[:-1].decode("ascii", "replace")


def _exactly(link: "_socket.socket", size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = link.recv(min(size, 1 << 16))
        if not part:
            raise ToolcribError("The connection closed before its greeting.")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
