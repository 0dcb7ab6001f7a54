"""Lists of running servers, compared with the store: new and changed tools are kept there."""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from app.core.scrubber import Scrubber
from app.system.threads import start_thread
from store.connection import open_store
from store.serving import ServerRow, named_tool_texts
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.indexing.list_changes import ListChanges

    _Done = Callable[[ListChanges], None]

_PAUSE, _LONGEST_PAUSE = 0.1, 3.0  # seconds


class _List:
    """A list that waits to be taken in, and who waits for that: of it and of older ones."""

    __slots__ = ("_done", "items")

    def __init__(self, items: Sequence[Json], done: "_Done", overtaken: "_List | None") -> None:
        self.items = list(items)
        self._done: list[_Done] = [done, *(overtaken._done if overtaken else ())]

    def finish(self, changes: "ListChanges") -> None:
        """Tell all of them, once; the changes are the newest list's."""
        calls, self._done = self._done, []
        for number, call in enumerate(calls):
            with suppress(Exception):  # one that fails must not keep the others waiting
                call(type(changes)() if number else changes)


class NewTools:
    """Takes in what running servers list; usable from any thread.

    One list of a server at a time and a pause behind it, each twice as long as the one before: a
    change is in Review at once, a server that announces changes without end costs little, and
    only its newest list counts.
    """

    __slots__ = ("_database", "_idle", "_lock", "_newest", "_pause", "_scrubber")

    def __init__(self, database: str, scrubber: Scrubber, *, pause: float = _PAUSE) -> None:
        self._database = database
        self._scrubber = scrubber
        self._pause = pause
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._newest: dict[int, _List | None] = {}  # by server; None: nothing waits

    def ingest(
        self, row: ServerRow, items: Sequence[Json], done: "Callable[[ListChanges], None]"
    ) -> None:
        """Compare a running server's list with the stored one, in a thread of its own.

        `items` are entries of tools/list as they came. `done` gets what was added and what
        changed as soon as that is stored with its findings; nothing where the lists agree, or
        where a newer list of the server overtook this one. Tools that are missing stay, since a
        list may depend on who asks (STACK.md, fault 3).
        """
        with self._lock:
            runs = row.id in self._newest
            self._newest[row.id] = _List(items, done, self._newest.get(row.id))
        if not runs:
            start_thread(self._run, row.id)

    def wait(self, seconds: float) -> bool:
        """Wait at most that long; True if nothing is being taken in any more."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._newest, seconds)

    def _run(self, server_id: int) -> None:
        pause = self._pause
        while True:
            with self._lock:
                newest = self._newest.pop(server_id)
                if newest is None:
                    self._idle.notify_all()
                    return
                self._newest[server_id] = None
            self._take(server_id, newest)
            threading.Event().wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _take(self, server_id: int, newest: _List) -> None:
        from app.indexing.list_changes import ListChanges

        # one that breaks the comparison must not keep the next one from it
        with suppress(Exception):
            # a store that cannot be read: the window's next scan will see them
            if differs(self._database, server_id, newest.items, self._scrubber):
                from app.indexing.ingest_process import ingest_apart

                secrets = self._scrubber.values
                ingest_apart(server_id, newest.items, secrets, stored=newest.finish)
        newest.finish(ListChanges())


def differs(database: str, server_id: int, items: Sequence[Json], scrubber: Scrubber) -> bool:
    """True if any of the server's live tools is new, or not as the store has it."""
    from app.indexing.raw_tools import stored_forms

    with closing(open_store(database)) as db:
        stored = named_tool_texts(db, server_id)
    for form in stored_forms(items, scrubber):
        texts = stored.get(form.name)
        if not texts or not form.is_stored_as(texts.pop(0)):
            return True
    return False
