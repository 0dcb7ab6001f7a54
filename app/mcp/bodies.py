"""Bodies of HTTP responses, decompressed and measured before they are kept or parsed."""

import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2

from app.mcp.limits import Bounds, Shape, TooLargeError

_PIECE = 262_144  # bytes that are decompressed at once


class Bodies:
    """Bodies that one session receives; `on_fault` is called with the reason to end it."""

    def __init__(self, bounds: Bounds, on_fault: Callable[[str], None]) -> None:
        self.bounds = bounds
        self.received = 0  # bytes, decompressed
        self._on_fault = on_fault

    async def bound(self, response: httpx2.Response) -> None:
        """Limit a response before its body is read; httpx2 calls this for each."""
        self.received += 1  # an empty answer is a sign of life as well
        encoding = response.headers.pop("Content-Encoding", "identity")
        kind = response.headers.get("Content-Type", "")
        shape = Shape() if "json" in kind or "event-stream" in kind else None
        response.stream = _Body(self, response.stream, encoding, shape)

    def count(self, piece: bytes, before: int) -> int:
        """Bytes of the message, or the event, that is coming; raises TooLargeError."""
        self.received += len(piece)
        if self.received > self.bounds.total:
            raise TooLargeError(f"over {self.bounds.total:,} bytes")
        last = max(piece.rfind(b"\n\n"), piece.rfind(b"\r\n\r\n"))
        size = before + len(piece) if last < 0 else len(piece) - last
        if size > self.bounds.message:
            raise TooLargeError(f"a message of over {self.bounds.message:,} bytes")
        return size

    def refuse(self, error: TooLargeError) -> httpx2.TransportError:
        """The error that ends a body."""
        self._on_fault(f"sent {error}")
        return httpx2.TransportError(f"It sent {error}.")


class _Body(httpx2.AsyncByteStream):
    """One response's body."""

    def __init__(self, bodies: Bodies, inner: Any, encoding: str, shape: Shape | None) -> None:
        self._bodies = bodies
        self._inner = inner
        self._encoding = encoding
        self._shape = shape

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            inflated = _Inflated(self._encoding)
            async for chunk in self._inner:
                for piece in inflated.pieces(chunk):
                    size = self._bodies.count(piece, size)
                    if self._shape is not None:
                        self._shape.feed(piece)
                    yield piece
        except TooLargeError as error:
            raise self._bodies.refuse(error) from error

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Inflated:
    """A compressed body in pieces of at most 256 kB."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("identity", "gzip", "x-gzip", ""):
            raise TooLargeError("a kind of compression that it was not asked for")
        self._gzip = zlib.decompressobj(47) if "gzip" in encoding else None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Pieces of a chunk, decompressed; raises TooLargeError."""
        if self._gzip is None:
            yield chunk
            return
        piece = b""
        while chunk or len(piece) == _PIECE:
            try:
                piece = self._gzip.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise TooLargeError("a damaged body") from error
            chunk = self._gzip.unconsumed_tail
            yield piece
