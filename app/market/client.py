"""A client of the generic registry protocol, v0.1: pages of listed servers, from one host only.

What the other side may do is bounded: bytes and seconds of a page, pages, bytes and seconds of a
sync. A redirect is followed on the same host only. A public source is asked over HTTPS, and its
address is looked up before each request: one of this machine's network is refused.
"""

import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import orjson

from app.core.addresses import is_public
from app.core.errors import ToolcribError
from app.core.text import visible
from app.market import guards
from store.records import storable
from store.typed import Json, object_or_empty

PAGE = 100  # servers asked for; a source may give fewer
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
_LONGEST_CURSOR = 2_000  # characters
_PIECE = 64 * 1024
_LOOK_UP_SECONDS = 8.0  # without a network, the system's own look-up may take over a minute


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one sync."""

    page_bytes: int = 8 << 20  # decompressed
    page_seconds: float = 60.0
    read_seconds: float = 20.0  # without a byte
    connect_seconds: float = 10.0  # to all addresses of the host together
    pages: int = 5_000
    bytes: int = 512 << 20
    seconds: float = 3_600.0


class SourceError(ToolcribError):
    """A source that cannot be asked, or that answered what cannot be used."""


class ForgottenError(SourceError):
    """The source does not know the cursor or the server (status 400, 404 or 410)."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: tuple[object, ...]
    cursor: str  # of the next page, "" for the last one


def redirected(url: str, response: httpx2.Response) -> str:
    """The URL that a response leads to; raises InvalidURL."""
    try:
        return urljoin(url, response.headers.get("Location", ""))
    except ValueError as error:
        raise httpx2.InvalidURL(str(error)) from error


class Cut:
    """The end of a request whose headers never end: its connection is shut from another thread."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    @contextmanager
    def after(self, seconds: float) -> Iterator[Mapping[str, Any]]:
        """Extensions of a request that is cut after so many seconds."""
        timer = threading.Timer(seconds, self._shut)
        timer.start()
        try:
            yield {"trace": self._note}
        finally:
            timer.cancel()
            timer.join()

    def _note(self, event: str, about: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = about["return_value"].get_extra_info("socket")

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it is closed
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


Resolve = Callable[[str, int], list[str]]


def resolve(host: str, port: int, seconds: float = _LOOK_UP_SECONDS) -> list[str]:
    """The addresses of a host; OSError, also where none is known by then."""
    known: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            known.set_result([str(one[4][0]) for one in rows])
        except (OSError, UnicodeError) as error:
            known.set_exception(error)

    # a look-up cannot be ended: a daemon, so that it does not keep the program either
    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    return known.result(seconds)


@dataclass(slots=True)
class Client:
    """Requests to one source; close it. `cancelled` ends a request at its next piece."""

    url: str
    private: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    cancelled: Callable[[], bool] = lambda: False
    resolve: Resolve = resolve
    received: int = 0  # bytes, decompressed
    pages: int = 0
    _http: httpx2.Client = field(init=False, repr=False)
    _cut: Cut = field(init=False, default_factory=Cut, repr=False)
    _began: float = field(init=False, default_factory=time.monotonic)

    def __post_init__(self) -> None:
        problem = guards.source_problem(self.url, private=self.private)
        if problem:
            raise SourceError(f"The source cannot be asked: {problem}", _CHANGE)
        own = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "toolcrib"}
        self._http = httpx2.Client(
            headers={**own, **self.headers},
            timeout=httpx2.Timeout(self.limits.read_seconds, connect=self.limits.connect_seconds),
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def page(self, cursor: str = "", since: str = "") -> Page:
        """The list's next page; `since` (RFC 3339) asks for what changed after it."""
        if self.pages >= self.limits.pages:
            raise SourceError(
                f"{self._host} lists more than {self.limits.pages:,} pages.", _ENDLESS
            )
        given = {"limit": str(PAGE), "version": "latest", "cursor": cursor, "updated_since": since}
        query = "&".join(f"{key}={quote(text, safe='')}" for key, text in given.items() if text)
        answer = self._json(f"{self._base}/v0.1/servers?{query}", _parsed)
        self.pages += 1
        items, meta = answer.get("servers"), answer.get("metadata")
        if not isinstance(items, list):
            raise SourceError(f"{self._host} sent a page without a list of servers.", _NO_REGISTRY)
        if len(items) > 10 * PAGE:
            raise SourceError(f"{self._host} sent {len(items):,} servers at once.", _ENDLESS)
        return Page(tuple(items), self._cursor(object_or_empty(meta)))

    def version(self, name: str, version: str) -> Json:
        """One version of one server, as the list has it; ForgottenError where it is gone."""
        place = f"{quote(name, safe='')}/versions/{quote(version, safe='')}"
        return self._json(f"{self._base}/v0.1/servers/{place}")

    @property
    def _base(self) -> str:
        base = self.url.rstrip("/")
        return base.removesuffix("/v0.1").removesuffix("/v0")

    @property
    def _host(self) -> str:
        return urlsplit(self.url).hostname or self.url

    def _cursor(self, meta: Json) -> str:
        cursor = meta.get("nextCursor", meta.get("next_cursor")) or ""
        good = isinstance(cursor, str) and cursor == storable(cursor)
        if not good or len(cursor) > _LONGEST_CURSOR:
            raise SourceError(f"{self._host} sent a cursor that is no text.", _NO_REGISTRY)
        return cursor

    def _json(self, url: str, parsed: Callable[[bytes], object] = orjson.loads) -> Json:
        body = self._body(url)
        try:
            answer = parsed(body)
        except (ValueError, RecursionError) as error:
            raise SourceError(
                f"{self._host} sent something that is not JSON.", _NO_REGISTRY
            ) from error
        if not isinstance(answer, dict):
            raise SourceError(f"{self._host} sent something that is not a page.", _NO_REGISTRY)
        return answer

    def _body(self, url: str) -> bytes:
        """The body of a GET, redirects on the same host followed; raises SourceError."""
        for _ in range(_MOST_REDIRECTS + 1):
            self._check_address(url)
            until = time.monotonic() + self.limits.page_seconds
            try:
                with (
                    self._cut.after(self.limits.page_seconds) as extensions,
                    self._http.stream("GET", url, extensions=extensions) as response,
                ):
                    if response.status_code not in _REDIRECTS:
                        self._check_status(response)
                        return b"".join(self._pieces(response, until))
                    url = self._redirected(url, response)
            except httpx2.ConnectTimeout as error:
                raise SourceError(f"{self._host} cannot be reached.", _OFFLINE) from error
            except httpx2.HTTPError as error:
                self._check_page_time(until)
                reason = visible(str(error))[:200] or type(error).__name__
                raise SourceError(f"{self._host} could not be asked: {reason}.", _LATER) from error
            except httpx2.InvalidURL as error:
                raise SourceError(f"{self._host} sent on to what is no URL.", _CHANGE) from error
        raise SourceError(f"{self._host} redirects without end.", _CHANGE)

    def _check_address(self, url: str) -> None:
        self._check_time()
        parts = urlsplit(url)
        if self.private and _has_proxy(parts.scheme, parts.hostname or ""):
            return  # the proxy alone may know the host
        try:
            addresses = self.resolve(parts.hostname or "", parts.port or 443)
        except (OSError, UnicodeError) as error:
            raise SourceError(f"{self._host} is not known in the network.", _OFFLINE) from error
        each = self.limits.connect_seconds / max(1, len(addresses))
        self._http.timeout = httpx2.Timeout(self.limits.read_seconds, connect=each)
        if self.private:
            return
        if not addresses or not all(map(is_public, addresses)):
            raise SourceError(
                f"{self._host} leads to an address of this machine or its network.",
                "If that is your own registry, add it with --private.",
            )

    def _redirected(self, url: str, response: httpx2.Response) -> str:
        target = redirected(url, response)
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            shown = visible(target[:120])
            raise SourceError(
                f"{self._host} redirects to {shown}.",
                "Only the source's own host is asked. If it has moved, add the new address.",
            )
        return target

    def _check_status(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (400, 404, 410):
            raise ForgottenError(f"{self._host} does not know what was asked for.", _NO_REGISTRY)
        if status in (401, 403):
            raise SourceError(
                f"{self._host} refused access (status {status}).",
                "Add the source again with the header that it wants.",
            )
        if status == 429:
            raise SourceError(f"{self._host} was asked too often.", "Try again in an hour.")
        if status != 200:
            raise SourceError(f"{self._host} answered with status {status}.", _LATER)

    def _pieces(self, response: httpx2.Response, until: float) -> Iterator[bytes]:
        """The body, decompressed and counted piece by piece."""
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise SourceError(f"{self._host} sent what was not asked for.", _NO_REGISTRY)
        gzip = zlib.decompressobj(47) if "gzip" in encoding else None
        size = 0
        for chunk in response.iter_raw():
            for piece in [chunk] if gzip is None else _inflated(gzip, chunk, self._host):
                size += len(piece)
                self.received += len(piece)
                if size > self.limits.page_bytes:
                    mb = self.limits.page_bytes >> 20
                    raise SourceError(f"{self._host} sent a page of over {mb} MB.", _ENDLESS)
                if self.received > self.limits.bytes:
                    mb = self.limits.bytes >> 20
                    raise SourceError(f"{self._host} sent over {mb} MB.", _ENDLESS)
                yield piece
            self._check_time()
            self._check_page_time(until)
        self._check_page_time(until)  # one that was cut ends like a whole one
        if gzip is not None and not gzip.eof:
            raise SourceError(f"{self._host} sent a damaged page.", _LATER)

    def _check_page_time(self, until: float) -> None:
        if time.monotonic() > until:
            raise SourceError(f"{self._host} took too long for one page.", _LATER)

    def _check_time(self) -> None:
        if self.cancelled():
            raise CancelledError("The sync was stopped.", "It goes on from here the next time.")
        if time.monotonic() - self._began > self.limits.seconds:
            raise SourceError(f"{self._host} took too long.", "It goes on from here the next time.")


def _parsed(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body)  # half a character in an entry is no fault of the others


def _has_proxy(scheme: str, host: str) -> bool:
    """True if the environment names a proxy for requests to this host."""
    proxies = getproxies()
    return bool({scheme, "all"} & proxies.keys()) and not proxy_bypass(host)


class CancelledError(SourceError):
    """The user stopped it."""


_CHANGE = "Nothing was fetched. Correct the source's URL."
_LATER = "What was fetched before is kept. Try again later."
_OFFLINE = "What was fetched before is kept. Check this machine's network, then try again."
_ENDLESS = "What was fetched before is kept. Remove the source if you do not trust it."
_NO_REGISTRY = "A registry that speaks v0.1 is needed. What was fetched before is kept."


def _inflated(gzip: Any, chunk: bytes, host: str) -> Iterator[bytes]:
    piece = b""
    while chunk or len(piece) == _PIECE:
        try:
            piece = gzip.decompress(chunk, _PIECE)
        except zlib.error as error:
            raise SourceError(f"{host} sent a damaged page.", _LATER) from error
        chunk = gzip.unconsumed_tail
        yield piece
