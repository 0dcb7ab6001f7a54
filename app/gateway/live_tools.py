"""Present lists of running servers, compared with the texts that were trusted."""

import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

from app.catalog.reasons import CHANGED, UNCHECKED
from app.core.scrubber import Scrubber
from app.gateway.profile_view import ProfileView
from app.mcp import limits
from app.mcp.listing import Listing
from app.mcp.session import FAILED, Upstream
from store.definitions import same_definition
from store.serving import ServerRow
from store.typed import Json

FRESH_SECONDS = 5.0  # how old a list may be before a call has it read again behind the call's back
_BLOCKING_SECONDS = 30.0  # and how old before the call waits for that


class _LiveList:
    """One running server's list of tools."""

    __slots__ = (
        "again",
        "at",
        "changes",
        "checking",
        "items",
        "reading",
        "settling",
        "taken",
        "verdicts",
        "waiting",
    )

    def __init__(self) -> None:
        self.items: dict[str, Json] | None = None  # by name, None until read
        self.at = float("-inf")  # when it was read, or could not be
        self.changes = -1  # of the server's announcements, when it was read
        self.reading = False
        self.again = False  # it changed while it was read
        self.waiting: list[Callable[[str], None]] = []
        self.taken = 0  # lists so far, those that could not be read included
        self.checking: set[int] = set()  # numbers of lists whose new texts are being stored
        self.settling: list[tuple[int, Callable[[], None]]] = []  # which list each waits for
        self.verdicts: dict[tuple[str, str], bool] = {}  # (name, trusted text) -> whether the same


class LiveTools:
    """The lists of all running servers; usable from any thread.

    A server's list is read when it starts, when it says that it changed, and now and then as its
    tools are called, since a server may change without a word.
    """

    def __init__(
        self,
        view: ProfileView,
        ingest: Callable[[ServerRow, list[Json], Callable[[], None]], None],
        scrubber: Scrubber,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ingest` has new texts checked and stored, and then calls what it is given."""
        self._view = view
        self._ingest = ingest
        self._scrubber = scrubber
        self._clock = clock
        self._lock = threading.RLock()
        self._lists: dict[str, _LiveList] = {}

    def _list(self, server: str) -> _LiveList:
        live = self._lists.get(server)
        return live if live is not None else self._lists.setdefault(server, _LiveList())

    def names(self, server: str) -> Collection[str] | None:
        """The tools that the server listed last, None when it was not asked yet."""
        items = self._list(server).items
        return None if items is None else items.keys()

    def before_call(
        self, upstream: Upstream, call: Callable[[str], None], *, name: str | None
    ) -> None:
        """Run `call` when the server's list is known, starting the server if need be.

        For a server that was never read before, that is when its texts were checked too.
        `call` gets "", or why the server could not be started. `name`: of a tool that is not
        stored; the list is read again where it lacks it.
        """
        live = self._list(upstream.name)
        with self._lock:
            age = self._clock() - live.at
            same = live.changes == upstream.list_changes
            lacks = name is not None and name not in (live.items or ())
            current = same and upstream.started and age < _BLOCKING_SECONDS and not lacks
            if current and live.checking and self._is_first(upstream.name):
                live.settling.append((live.taken, partial(call, "")))
                return
            if not current:
                live.waiting.append(call)
        if not current or age > FRESH_SECONDS:
            self.read(upstream)
        if current:
            call("")

    def read(
        self,
        upstream: Upstream,
        *,
        changed: bool = False,
        settled: Callable[[], None] | None = None,
    ) -> None:
        """Read the server's list; `changed`: it says so, and one being read may be the old one.

        `settled` is called once the list was read and what is new in it was checked.
        """
        live = self._list(upstream.name)
        with self._lock:
            if settled is not None:
                live.settling.append((live.taken + 1 + (changed and live.reading), settled))
            if changed:
                live.again, live.at = live.reading, float("-inf")  # calls wait for the new list
            if live.reading:
                return
            live.reading = True

        def done(items: list[Json] | None) -> None:
            self._read(upstream, listing, items)

        # a server that has to start first may take its time, and its list no more than others
        listing = Listing(upstream, "tools/list", done, start_seconds=limits.START_TOTAL)
        listing.start()

    def _read(self, upstream: Upstream, listing: Listing, items: list[Json] | None) -> None:
        live = self._list(upstream.name)
        if items is not None:
            self.take(upstream.name, items)
        with self._lock:
            live.taken += items is None
            live.reading = False
            again, live.again = live.again, False
            waiting, live.waiting = live.waiting, []
            live.at = self._clock()
            live.changes = -1 if listing.stale else upstream.list_changes
            problem = listing.problem if upstream.state == FAILED else ""
            calls = [partial(call, problem) for call in waiting]
            if self._is_first(upstream.name):
                live.settling += [(live.taken, call) for call in calls]
                calls = []
        _run([*calls, partial(self._settle, live), *([partial(self.read, upstream)] * again)])

    def take(
        self, server: str, items: list[Json], settled: Callable[[], None] | None = None
    ) -> None:
        """Note a list that was just read, and keep what is new or changed in it.

        `settled` is called once what is new was checked, at once where nothing is.
        """
        live = self._list(server)
        row = self._view.servers.get(server)
        with self._lock:
            live.taken += 1
            number = live.taken
            if settled is not None:
                live.settling.append((number, settled))
            live.at = self._clock()
            first: dict[str, Json] = {}
            for item in items:
                first.setdefault(str(item.get("name")), item)
            same, live.items = first == live.items, first
            if not same:
                live.verdicts.clear()
            checks = row is not None and bool(items) and not same
            if checks:
                live.checking.add(number)
        if row is not None and checks:
            self._ingest(row, items, partial(self._checked, live, number))
        else:
            self._settle(live)

    def _is_first(self, server: str) -> bool:
        """True if nothing was stored of the server before it was started here."""
        row = self._view.servers.get(server)
        return row is not None and row.read_at == 0

    def _checked(self, live: _LiveList, number: int) -> None:
        try:
            self._view.refresh(at_once=True)
        finally:
            with self._lock:
                live.checking.discard(number)
            self._settle(live)

    def _settle(self, live: _LiveList) -> None:
        """Call who waits for a list that was checked, whatever lists follow it."""
        with self._lock:
            checked = min(live.checking, default=live.taken + 1) - 1
            calls = [call for number, call in live.settling if number <= checked]
            live.settling = [one for one in live.settling if one[0] > checked]
        _run(calls)

    def forget(self, server: str) -> None:
        """The server has gone; its next run may list other tools."""
        live = self._list(server)
        with self._lock:
            live.items, live.at = None, float("-inf")

    def kind(self, row: ServerRow, name: str) -> str:
        """The kind of reason for which a tool may not reach the host now, "" when it may.

        What a server lists now counts as much as what is stored: a text that differs from the
        trusted one is held from the moment it is seen.
        """
        tool = self._view.tool(row.id, name)
        live = self._list(row.name).items
        if tool is None:
            unlisted = live is not None and name not in live  # the server's to refuse
            return "" if unlisted else UNCHECKED
        if tool.reason or live is None or name not in live:
            return tool.reason
        return "" if self._same(row.name, name, tool.raw) else CHANGED

    def has_text(self, row: ServerRow, name: str, raw: str) -> bool:
        """True if a tool's text is this one now: in the store, and as its running server has it."""
        self._view.refresh(at_once=True)  # it may have changed a moment before a yes
        tool = self._view.tool(row.id, name)
        return tool is not None and tool.raw == raw and self._same(row.name, name, raw)

    def _same(self, server: str, name: str, trusted: str) -> bool:
        live = self._list(server)
        verdict = live.verdicts.get((name, trusted))
        if verdict is None:
            item = (live.items or {}).get(name)
            verdict = item is None or self._as_trusted(item, json.loads(trusted))
            live.verdicts[name, trusted] = verdict
        return verdict

    def _as_trusted(self, item: Json, trusted: Json) -> bool:
        from app.indexing.raw_tools import stored_forms

        # as it came, or as it would be stored: without the secret values of servers
        forms = (form.raw for form in stored_forms([item], self._scrubber))
        return any(same_definition(one, trusted) for one in (item, *forms))


def _run(calls: Sequence[Callable[[], None]]) -> None:
    """Run all in order, also after one that breaks: each answers for itself."""
    for call in calls:
        with suppress(Exception):
            call()
