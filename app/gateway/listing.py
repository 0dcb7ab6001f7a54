"""Reading a running server's lists, page by page, without blocking anybody."""

import threading
from collections.abc import Callable
from functools import partial

from app.gateway.exchange import Asked
from app.gateway.protocol import LISTS, Json
from app.gateway.upstream import Upstream

LIMIT_SECONDS = 10.0
_MOST_PAGES = 200


class Listing:
    """One list being read; `done` is called once, with None when it could not be read."""

    def __init__(
        self, upstream: Upstream, method: str, done: Callable[[list[Json] | None], None]
    ) -> None:
        self._upstream = upstream
        self._method = method
        self._done = done
        self._items: list[Json] = []
        self._pages = 0
        self._seen: set[str] = set()
        self._ending = threading.Lock()
        self._ended = False
        self._timer = threading.Timer(LIMIT_SECONDS, self._end, (None,))
        self._timer.daemon = True

    def start(self) -> None:
        """Ask for the first page."""
        self._timer.start()
        self._ask(None)

    def _ask(self, cursor: str | None) -> None:
        params: Json = {} if cursor is None else {"cursor": cursor}
        message: Json = {"jsonrpc": "2.0", "id": 0, "method": self._method, "params": params}
        asked = Asked(message, answered=self._page, failed=lambda _reason: self._end(None))
        self._upstream.request(asked)

    def _page(self, answer: Json) -> None:
        result = answer.get("result")
        found = result.get(LISTS[self._method]) if isinstance(result, dict) else None
        if not isinstance(found, list):
            self._end(None)
            return
        self._items += [item for item in found if isinstance(item, dict)]
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        self._pages += 1
        if isinstance(cursor, str) and cursor not in self._seen and self._pages < _MOST_PAGES:
            self._seen.add(cursor)
            self._ask(cursor)
        else:
            self._end(self._items)

    def _end(self, items: list[Json] | None) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
        self._timer.cancel()
        self._done(items)


def read_all(
    upstreams: list[Upstream],
    method: str,
    done: Callable[[dict[str, list[Json] | None]], None],
) -> None:
    """Read the same list of several servers at once; `done` gets them by server name."""
    found: dict[str, list[Json] | None] = {}
    lock = threading.Lock()
    if not upstreams:
        done(found)

    def one(name: str, items: list[Json] | None) -> None:
        with lock:
            found[name] = items
            complete = len(found) == len(upstreams)
        if complete:
            done(found)

    for upstream in upstreams:
        Listing(upstream, method, partial(one, upstream.name)).start()
