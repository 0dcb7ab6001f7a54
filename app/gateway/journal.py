"""Events on their way to the store: a call never waits for them, and what is dropped is counted."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import apsw

from app.core.errors import ToolcribError
from app.core.scrubber import HIDDEN
from app.system.threads import start_thread
from store.errors import StoreError
from store.typed import TYPE_CHECKING, Any, Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.gateway.journal_tail import JournalTail
    from app.gateway.telemetry import Telemetry
    from store.records import EventRecord

_TYPED = ("query", "tool", "problem")  # by a model, the last two where there is no such tool
_AT_ONCE = frozenset({"call"})  # in a file before the host has its answer

ROOM = 4_000  # characters of a text that is noted; it is cut once no secret can be cut in two
_KEPT_QUERY, _KEPT_PROBLEM, _KEPT_ANSWER = 500, 1_000, 300

CAPACITY = 10_000  # events; more than that at once are dropped and counted
_BATCH_SECONDS = 0.3
_RETRIES = 3
_KEEP_EVERY = 2000  # events written between two prunings


class Journal:
    """A bounded queue and the one thread that writes it."""

    def __init__(
        self,
        open_db: Callable[[], apsw.Connection],
        *,
        profile: str,
        session: str,
        keep: Callable[[], int] = lambda: 100_000,
        hide: Callable[[Any], Any] = lambda fields: fields,
        hide_all: Callable[[apsw.Connection, Any], Any] = lambda _, fields: fields,
        clock: Callable[[], float] = time.time,
        folder: str = "",
        telemetry: "Callable[[], Telemetry] | None" = None,
    ) -> None:
        """`folder`: of the store; calls are in a file there until the store has them.

        `telemetry` makes what gets events that the store has, where the user lets them leave.
        """
        self._make_telemetry = telemetry
        self._sent: Telemetry | None = None
        self._open = open_db
        self._keep = keep
        self._profile = profile
        self._session = session
        self._hide = hide  # takes secret values out of an event, those known so far
        self._hide_all = hide_all  # slower, before a text reaches the store
        self._clock = clock
        self._queue: deque[Json] = deque()  # fields of store.records.EventRecord
        self._batch: list[Json] = []  # under way to the store
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._written = 0
        self._folder = folder
        self._tail: JournalTail | None = None  # made with the first call
        self._tail_lock = threading.Lock()
        self._left_in_file = False  # calls that only the file has
        self.host = ""
        self.dropped = 0

    def add(self, kind: str, **fields: object) -> None:
        """Note an event; fields are those of store.records.EventRecord."""
        if len(self._queue) >= CAPACITY:
            self.dropped += 1
            return
        event = self._event(kind, fields)
        if kind in _AT_ONCE and self._folder:
            with self._tail_lock:
                self._queue.append(event)
                self._keep_in_file(event)
        else:
            self._queue.append(event)
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None:
            self._thread = start_thread(self._run)

    def _keep_in_file(self, event: Json) -> None:
        if self._tail is None:
            from app.gateway.journal_tail import JournalTail

            self._tail = JournalTail(self._folder)
        # compared with no secret of a server that was not started: that takes too long here
        self._tail.keep(_bare(event))

    def _event(self, kind: str, fields: Json) -> Json:
        return {
            "at": self._clock(),
            "kind": kind,
            "profile": self._profile,
            "session": self._session,
            **self._hide({"host": self.host, **fields}),
        }

    def close(self, seconds: float = 1.0) -> None:
        """Write what is left, for at most `seconds`."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._say_unwritten()

    def _say_unwritten(self) -> None:
        """Leave the count of what a process that ends now loses; one that goes on removes it."""
        with self._tail_lock:
            lost = self._unfiled([*self._batch, *self._queue])
            if lost:
                self._say_dropped(lost)

    def _run(self) -> None:
        db: apsw.Connection | None = None
        failures = 0
        while True:
            self._wake.wait()
            self._wake.clear()
            self._batch = batch = [self._queue.popleft() for _ in range(len(self._queue))]
            try:
                db = db or self._first()
                written = self._write(db, batch)
                self._clear_tail(db)
                self._send(written)
                failures = 0
            except (apsw.Error, StoreError):  # calls go on without a journal
                failures += 1
                if failures < _RETRIES and len(self._queue) + len(batch) <= CAPACITY:
                    self._queue.extendleft(reversed(batch))
                    self._wake.set()
                else:
                    self._drop(batch)
            if self._closing.is_set() and (not self._queue or failures):
                self._drop(self._queue)
                if db is not None:
                    db.close()
                self._end_tail()
                if self._sent is not None:
                    self._sent.close()
                return
            self._closing.wait(_BATCH_SECONDS)  # the first event is written at once, more together

    def _drop(self, batch: "Iterable[Json]") -> None:
        """Count events that the store did not take and that are in no file."""
        dropped = list(batch)
        lost = self._unfiled(dropped)
        self.dropped += lost
        self._left_in_file = self._left_in_file or lost < len(dropped)

    def _unfiled(self, batch: list[Json]) -> int:
        """Number of these events that are in no file."""
        is_filed = self._tail is not None and self._tail.is_whole
        return sum(not (is_filed and event["kind"] in _AT_ONCE) for event in batch)

    def _clear_tail(self, db: apsw.Connection) -> None:
        """Forget what the file holds, now that the store has it."""
        with self._tail_lock:
            if self._tail is None or self._queue:
                return
            if not self._left_in_file:
                self._tail.clear()
                return
            self._tail.leave()
            self._tail, self._left_in_file = None, False
        with suppress(apsw.Error, StoreError):  # else the next reader takes it
            self._take_left(db)

    def _end_tail(self) -> None:
        with self._tail_lock:
            if self.dropped:
                self._say_dropped(self.dropped)
            if self._tail is not None:
                if self.dropped or self._left_in_file:
                    self._tail.leave()
                else:
                    self._tail.close()

    def _say_dropped(self, lost: int) -> None:
        """Leave the count to the next reader of the store; without room for it, on stderr."""
        if not self._folder:  # no home: that was said, and loses everything
            return
        from app.gateway.journal_tail import JournalTail

        self._tail = self._tail or JournalTail(self._folder)
        note = self._dropped_note(lost)
        if not self._tail.keep(note):
            with suppress(OSError):
                sys.stderr.write(f"toolcrib-gateway: {note['problem']}\n")

    def _dropped_note(self, lost: int) -> Json:
        return self._event("error", {"problem": f"events dropped: {lost}"})

    def _send(self, written: "list[EventRecord]") -> None:
        """Let events leave that are in the store, where that is switched on."""
        if self._make_telemetry is None or not written:
            return
        self._sent = self._sent or self._make_telemetry()
        with suppress(Exception):  # a receiver's trouble is none of a call's
            self._sent(written)
        if problem := self._sent.take_problem():
            self.add("error", problem=problem)

    def _first(self) -> apsw.Connection:
        """A connection; what killed sessions left is taken in by it."""
        db = self._open()
        self._take_left(db)
        return db

    def _take_left(self, db: apsw.Connection) -> None:
        from app.gateway.journal_tail import take_left

        take_left(db, self._folder)

    def _write(self, db: apsw.Connection, batch: list[Json]) -> "list[EventRecord]":
        """Store a batch and return its records, with one of what was lost before it."""
        from store import events
        from store.connection import transaction
        from store.records import EventRecord

        lost, self.dropped = self.dropped, 0
        if lost:
            batch = [*batch, self._dropped_note(lost)]
        if not batch:
            return []
        batch = [_cut(self._hidden(db, event)) for event in batch]
        many = self._written + len(batch) >= _KEEP_EVERY
        kept = self._keep() if many else 0  # not while other writers wait
        try:
            with transaction(db):
                made = [EventRecord(**event) for event in batch]
                events.add(db, made)
                if many:
                    events.prune(db, kept)
            self._written = 0 if many else self._written + len(batch)
            return made
        except BaseException:
            self.dropped += lost
            raise

    def _hidden(self, db: apsw.Connection, event: Json) -> Json:
        """The event without secrets of servers that were not started: a text may hold any."""
        is_text = event.get("query") or event.get("problem") or _names_behind(event)
        if not is_text and _is_plain(event["host"]):
            return event
        from app.indexing.hidden_labels import hidden_query

        try:
            hidden: Json = self._hide_all(db, event)
            if hidden.get("query"):
                hidden["query"] = hidden_query(hidden["query"])
        except ToolcribError:  # the secrets cannot be read: no text is better than one of them
            typed = _TYPED if event["kind"] == "miss" else _TYPED[:1]
            bare = _bare(event) if event["kind"] == "call" else _without_host(event)
            return {**bare, **{name: HIDDEN for name in typed if event.get(name)}}
        return hidden


def _cut(event: Json) -> Json:
    """The event with as much of its texts as is kept."""
    longest = _KEPT_ANSWER if event["kind"] == "call" else _KEPT_PROBLEM
    query, problem = event.get("query", ""), event.get("problem", "")
    return {**event, "query": query[:_KEPT_QUERY], "problem": problem[:longest]}


def _is_plain(name: str) -> bool:
    """True for a host's name of words alone, as those of known hosts are."""
    return not name or "".join(name.replace("-", " ").split()).isalpha()


def _without_host(event: Json) -> Json:
    return event if _is_plain(event["host"]) else {**event, "host": HIDDEN}


def _names_behind(event: Json) -> bool:
    """True for a call with a name among its arguments: of a tool behind the one called."""
    return "behind" in event.get("detail", {})


def _bare(event: Json) -> Json:
    """A call without what its server, or its arguments, had for a text, or its host for a name."""
    bare = _without_host(event)
    bare = {**bare, "problem": HIDDEN} if event.get("problem") else bare
    if not _names_behind(event):
        return bare
    return {**bare, "detail": {**event["detail"], "behind": HIDDEN}}
