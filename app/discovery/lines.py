"""A server's output as lines and messages, whatever it prints."""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from app.discovery.checks import clean

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LONGEST_TAIL_LINE = 2_000  # characters


class LineTooLongError(ValueError):
    """A line went over the limit."""


class Lines:
    """Splits bytes into lines; keeps at most one unfinished line of `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes; raises LineTooLongError."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._rest += chunk[start:end]
            line, self._rest = bytes(self._rest), bytearray()
            self._check(line)
            yield line
            start = end + 1
        self._rest += chunk[start:]
        self._check(self._rest)

    def _check(self, line: bytes | bytearray) -> None:
        if len(line) > self._most:
            raise LineTooLongError(f"It sent a line of over {self._most:,} bytes.")


class Tail:
    """The last lines of stderr, without colours."""

    def __init__(self, lines: int = 40) -> None:
        self._kept: deque[str] = deque(maxlen=lines)
        self._rest = ""

    def feed(self, chunk: bytes) -> None:
        """Take more of the output in."""
        *lines, rest = (self._rest + chunk.decode("utf-8", "replace")).split("\n")
        self._rest = rest[-_LONGEST_TAIL_LINE:]
        for line in lines:
            self._keep(line)

    def text(self) -> str:
        """The last lines, each at most 2,000 characters."""
        rest = _plain(self._rest)
        return "\n".join([*self._kept, rest] if rest else self._kept)

    def last_line(self) -> str:
        """The last line that says something."""
        return next((line for line in reversed(self.text().split("\n")) if line.strip()), "")

    def _keep(self, line: str) -> None:
        plain = _plain(line)
        if plain:
            self._kept.append(plain[:_LONGEST_TAIL_LINE])


def messages(line: bytes) -> list[Any]:
    """The JSON-RPC messages of a line, [] for anything else; raises RecursionError."""
    try:
        found = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _name: None)
    except ValueError:
        return []
    if b"\\ud" in line or b"\\uD" in line:
        found = clean(found)
    batch = found if isinstance(found, list) else [found]
    return [message for message in batch if isinstance(message, dict)]


def _plain(line: str) -> str:
    return _ANSI.sub("", line).replace("\r", "").rstrip()
