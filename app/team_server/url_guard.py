"""Guard of outgoing requests: a server's URL may not lead into the operator's own network."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress

import httpx2

from app.core.addresses import is_public
from app.core.errors import ToolcribError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Note = Callable[[httpx2.Request, int], None]
_PORTS = {"http": 80, "https": 443}
_LONGEST = 2_048
_HOST = re.compile(r"[A-Za-z0-9._:-]*")  # IDNA is ASCII by then
_FORBIDDEN_PORTS = frozenset(
    {0, 19, 21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 993, 995, 2049,
     2375, 2379, 3306, 5432, 5672, 6379, 9200, 11211, 27017}
)  # fmt: skip


class RefusedUrlError(ToolcribError):
    """A URL that the team's server does not call."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Addresses of a host."""
    loop = asyncio.get_running_loop()
    rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in rows]


class UrlGuard:
    """Decides where requests may go; `inside` are hosts that the operator allows by name."""

    def __init__(self, inside: Collection[str] = (), lookup: Resolve = resolve) -> None:
        self._inside = frozenset(name.lower() for name in inside)
        self._lookup = lookup

    def check_text(self, url: str) -> httpx2.URL:
        """The URL, if its form is allowed. Raises RefusedUrlError."""
        if len(url) > _LONGEST or any(ord(c) <= 32 or ord(c) == 127 for c in url) or "\\" in url:
            raise _refused("It is too long, or holds blanks or control characters.")
        try:
            parsed = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError) as error:
            raise _refused("It cannot be read.") from error
        if not _HOST.fullmatch(parsed.raw_host.decode("ascii", "replace")):
            raise _refused("Its host is no name.")
        allowed = self.is_inside(parsed)
        if parsed.scheme != "https" and not (parsed.scheme == "http" and allowed):
            raise _refused("It does not begin with https://.")
        if parsed.userinfo or not parsed.host or parsed.fragment:
            raise _refused("It holds a user, a fragment, or no host.")
        if not allowed:
            if (parsed.port or _PORTS[parsed.scheme]) in _FORBIDDEN_PORTS:
                raise _refused("Its port belongs to another service.")
            literal = _literal(parsed.host)
            if literal and not is_public(literal):
                raise _refused("Its address is not public.")
        return parsed

    def is_inside(self, url: httpx2.URL) -> bool:
        """True if the operator allows this host and port by name."""
        port = url.port or _PORTS.get(url.scheme, 0)
        return f"{url.host.lower()}:{port}" in self._inside

    async def address(self, url: httpx2.URL) -> str:
        """The one address that a request may go to. Raises RefusedUrlError, OSError."""
        self.check_text(str(url))
        addresses = await self._lookup(url.host, url.port or _PORTS[url.scheme])
        if not addresses:
            raise OSError("no address")
        # one inside address among them is how a rebinding begins
        if not self.is_inside(url) and not all(map(is_public, addresses)):
            raise _refused("Its name leads to an address that is not public.")
        return addresses[0]


def _literal(host: str) -> str:
    """The address that a host is, also in the forms that only old libraries read, or ""."""
    with suppress(ValueError):
        return str(ipaddress.ip_address(host.strip("[]")))
    with suppress(OSError, ValueError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return ""


def _refused(reason: str) -> RefusedUrlError:
    return RefusedUrlError(
        f"This server's URL is refused. {reason}", "Ask who runs the team server."
    )


class GuardedSender(httpx2.BaseTransport):
    """The same for a client that waits: `httpx2.Client(transport=GuardedSender(guard))`."""

    def __init__(self, guard: UrlGuard) -> None:
        self._guard = guard
        self._inner = httpx2.HTTPTransport(retries=0)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request; a refused one is a ConnectError, since nothing was sent."""
        return self._inner.handle_request(asyncio.run(_pinned(self._guard, request)))

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


async def _pinned(guard: UrlGuard, request: httpx2.Request) -> httpx2.Request:
    try:
        address = await guard.address(request.url)
    except (ToolcribError, OSError) as error:
        text = str(error) or "It cannot be found."
        raise httpx2.ConnectError(text, request=request) from error
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,  # Host names the server, not its address
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends each request, redirects too, to the address that was checked, and to no other."""

    def __init__(self, guard: UrlGuard, note: Note = lambda _request, _status: None) -> None:
        """`note` gets each request with the status of its answer."""
        self._guard = guard
        self._note = note
        self._inner = httpx2.AsyncHTTPTransport(retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request; a refused one is a ConnectError, since nothing was sent."""
        answer = await self._inner.handle_async_request(await _pinned(self._guard, request))
        self._note(request, answer.status_code)
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()
