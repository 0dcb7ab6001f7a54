"""Lines of a host as they come: bounded in size, and what they ask without parsing them.

An adapter imports this: builtins only.
"""

from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_LINE = 64 << 20  # bytes
TOO_LONG = b"\0too long\0"  # how what is left of a longer line begins
_CHUNK = 1 << 16
_HEAD, _TAIL = 1024, 256  # bytes of a longer line that are kept, for its id
_SPACE = " \t\r\n"  # of JSON
_LONGEST_LOOKED_AT = 1 << 18  # bytes; what sets up a session is short


class LineSplitter:
    """Chunks in, whole lines out; of a line of over `longest` bytes only its two ends."""

    __slots__ = ("_longest", "_parts", "_size")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []  # of a line that has not ended, each as it came
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, each with its newline."""
        *lines, rest = chunk.split(b"\n")
        if lines and self._parts:
            self._keep(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts, self._size = [], 0
        if rest:
            self._keep(rest)
        return [line + b"\n" for line in lines]

    def rest(self) -> list[bytes]:
        """Bytes after the last newline, at the end of everything."""
        return [b"".join(self._parts)] if self._parts else []

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._longest:
            whole = b"".join(self._parts)
            start = b"" if whole.startswith(TOO_LONG) else TOO_LONG
            self._parts = [start + whole[:_HEAD], whole[-_TAIL:]]


def lines_of(read: "Callable[[int], bytes]") -> "Iterator[bytes]":
    """Every line that `read` gives until it gives nothing."""
    splitter = LineSplitter()
    while data := read(_CHUNK):
        yield from splitter.feed(data)
    yield from splitter.rest()


def messages_of(line: bytes) -> "list[bytes]":
    """The messages of a batch, each as a line of its own; any other line as it is.

    What is no batch of messages, or beyond all bounds, is left to who refuses it.
    """
    if line.startswith(b"{") or line.lstrip()[:1] != b"[":
        return [line]
    import json  # a batch is rare

    from app.mcp.limits import check_shape

    text = line.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder(strict=False)
    try:
        check_shape(line)
        parts = _elements(text, decoder.raw_decode)
    except (ValueError, RecursionError):
        return [line]
    return [part.encode("utf-8", "surrogateescape") + b"\n" for part in parts] or [line]


def _elements(text: str, read: "Callable[[str, int], tuple[object, int]]") -> "list[str]":
    """The objects of a JSON list as they are written; ValueError where it holds anything else."""
    at = text.index("[") + 1
    parts: list[str] = []
    while True:
        at = _after_space(text, at)
        value, end = read(text, at)
        if not isinstance(value, dict):
            raise ValueError
        parts.append(text[at:end])
        at = _after_space(text, end)
        mark, at = text[at : at + 1], at + 1
        if mark == "]" and not text[at:].strip(_SPACE):
            return parts
        if mark != ",":
            raise ValueError


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] in tuple(_SPACE):
        at += 1
    return at


def method_of(line: bytes) -> bytes:
    """The method of a message, b"" where it has none; nothing nested counts.

    The last of two, as for every parser. Long lines are not looked at.
    """
    if len(line) > _LONGEST_LOOKED_AT:
        return b""
    depth, at, last, key, method = 0, 0, b"", b"", b""
    while at < len(line):
        mark = line[at : at + 1]
        if mark == b'"':
            end = _end_of_string(line, at + 1)
            if depth == 1 and last == b":":
                method = line[at + 1 : end] if key == b"method" else method
            elif depth == 1:
                key = line[at + 1 : end]
            at = end
        elif mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
        if mark in b'{[}]:,"':
            last = mark
        at += 1
    return method if line.lstrip()[:1] == b"{" else b""


def _end_of_string(line: bytes, at: int) -> int:
    """Position of the string's closing mark."""
    while True:
        end = line.find(b'"', at)
        if end < 0:
            return len(line)
        before = line[at:end]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return end
        at = end + 1
