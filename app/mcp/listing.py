"""Reading a running server's lists, page by page, without blocking its other requests."""

import json
import threading
import time
from collections.abc import Callable
from functools import partial

from app.mcp import jsonrpc, limits
from app.mcp.protocol import LISTS
from app.mcp.requests import OwnRequest, PendingRequest
from app.mcp.session import Upstream
from store.typed import Any, Json, Protocol

_ROUNDS = 3  # times that a list is read whose server says that it changed meanwhile


class Server(Protocol):
    """Source of a list: a connection, or an upstream that may have to start first."""

    @property
    def list_changes(self) -> int:
        """Number of times that it announced another list of tools."""

    def request(self, request: PendingRequest) -> object:
        """Send a request."""


class Listing:
    """One list being read; `done` is called once, with None when it could not be read.

    `entries` then holds everything that was listed, `note` why that is not the whole list, and
    `problem` why there is none. A list of tools that changes meanwhile is read again.
    """

    def __init__(
        self,
        server: Server,
        method: str,
        done: Callable[[list[Json] | None], None],
        *,
        most: int = 0,
        seconds: float = limits.LIST_SECONDS,
        start_seconds: float = 0.0,
    ) -> None:
        """`seconds` for each page and for all of them; a start may take `start_seconds` before."""
        self.entries: list[Any] = []
        self.note = ""
        self.problem = ""
        self.code = 0  # of the error that the server answered with
        self._server = server
        self._method = method
        self._done = done
        self._most = most or (limits.TOOLS if method == "tools/list" else limits.EXTRAS)
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._until = 0.0  # from the first page on
        self._rounds = 0
        self._changes = 0
        self._cursors: set[str] = set()
        self._room = limits.LIST_CHARACTERS

    def start(self) -> None:
        """Ask for the first page."""
        self._rounds += 1
        self._changes = self._server.list_changes
        self.entries, self.note, self._cursors = [], "", set()
        self._room = limits.LIST_CHARACTERS
        self._request({})

    @property
    def stale(self) -> bool:
        """True if the server has announced another list of tools since."""
        return self._changes != self._server.list_changes

    def _request(self, params: Json) -> None:
        request = OwnRequest(
            jsonrpc.request(self._method, params),
            answered=self._page,
            failed=self._failed,
            seconds=self._seconds,
        )
        request.start_seconds, self._start_seconds = self._start_seconds, 0.0
        self._server.request(request)

    def _page(self, answer: Json) -> None:
        self._until = self._until or time.monotonic() + self._seconds
        result = answer.get("result")
        page = result.get(LISTS[self._method]) if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(page, list):
            self._refused(answer.get("error"))
            return
        cursor = result.get("nextCursor")
        if beyond := self._take(page):
            self._cut(beyond)
        elif cursor is None or cursor == "":
            self._complete()
        elif repr(cursor) in self._cursors:
            self._cut(f"{self._method} goes round in circles; it was read once.")
        elif len(self._cursors) >= limits.PAGES:
            self._cut(
                f"{self._method} has more than {limits.PAGES:,} pages; the rest was left out."
            )
        elif time.monotonic() > self._until:
            self._failed("took too long")
        else:
            self._cursors.add(repr(cursor))
            self._request({"cursor": cursor})

    def _take(self, page: list[Any]) -> str:
        """Keep the page's entries as far as the bounds allow; what is beyond, "" for nothing."""
        for entry in page:
            if len(self.entries) >= self._most:
                return (
                    f"{self._method} has more than {self._most:,} entries; the rest was left out."
                )
            self._room -= len(json.dumps(entry, ensure_ascii=False))
            if self._room < 0:
                most = f"{limits.LIST_CHARACTERS:,} characters"
                return f"{self._method} takes over {most}; the rest was left out."
            self.entries.append(entry)
        return ""

    def _cut(self, note: str) -> None:
        self.note = note
        self._complete()

    def _complete(self) -> None:
        if self._method == "tools/list" and self.stale and self._rounds < _ROUNDS:
            self.start()
        else:
            self._done([entry for entry in self.entries if isinstance(entry, dict)])

    def _refused(self, error: object) -> None:
        if isinstance(error, dict):
            self.code = error.get("code", 0)
            self._failed(str(error.get("message") or "no reason given").partition("\n")[0][:300])
        else:
            self._failed(f"its answer to {self._method} holds no list")

    def _failed(self, reason: str) -> None:
        self.problem = reason
        self._done(None)


def read_all(
    upstreams: list[Upstream],
    method: str,
    done: Callable[[dict[str, list[Json] | None]], None],
) -> None:
    """Read the same list of several servers at once; `done` gets them by server name."""
    lists: dict[str, list[Json] | None] = {}
    lock = threading.Lock()
    if not upstreams:
        done(lists)

    def one(name: str, items: list[Json] | None) -> None:
        with lock:
            lists[name] = items
            complete = len(lists) == len(upstreams)
        if complete:
            done(lists)

    for upstream in upstreams:
        Listing(upstream, method, partial(one, upstream.name)).start()
