"""Events on their way to the store: a call never waits for them, and what is dropped is counted."""

import threading
import time
from collections import deque
from collections.abc import Callable

import apsw

from app.system.threads import start_thread
from store.errors import StoreError
from store.typed import Any, Json

_Event = tuple[float, str, Json]  # when, kind, fields of store.records.EventRecord

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._open = open_db
        self._keep = keep
        self._profile = profile
        self._session = session
        self._hide = hide  # takes secret values out of an event
        self._clock = clock
        self._queue: deque[_Event] = deque()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._written = 0
        self.host = ""
        self.dropped = 0

    def add(self, kind: str, **fields: object) -> None:
        """Note an event; fields are those of store.records.EventRecord."""
        if len(self._queue) >= CAPACITY:
            self.dropped += 1
            return
        self._queue.append((self._clock(), kind, fields))  # a record is made of it later
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None:
            self._thread = start_thread(self._run)

    def close(self, seconds: float = 1.0) -> None:
        """Write what is left, for at most `seconds`."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        db: apsw.Connection | None = None
        failures = 0
        while True:
            self._wake.wait()
            self._wake.clear()
            batch = [self._queue.popleft() for _ in range(len(self._queue))]
            try:
                db = db or self._open()
                self._write(db, batch)
                failures = 0
            except (apsw.Error, StoreError):  # calls go on without a journal
                failures += 1
                if failures < _RETRIES and len(self._queue) + len(batch) <= CAPACITY:
                    self._queue.extendleft(reversed(batch))
                    self._wake.set()
                else:
                    self.dropped += len(batch)
            if self._closing.is_set() and (not self._queue or failures):
                self.dropped += len(self._queue)
                if db is not None:
                    db.close()
                return
            self._closing.wait(_BATCH_SECONDS)  # the first event is written at once, more together

    def _write(self, db: apsw.Connection, batch: list[_Event]) -> None:
        from store import events
        from store.connection import transaction
        from store.records import EventRecord

        lost, self.dropped = self.dropped, 0
        if lost:
            note = {"problem": f"{lost} events were dropped"}
            batch = [*batch, (self._clock(), "error", note)]
        if not batch:
            return
        many = self._written + len(batch) >= _KEEP_EVERY
        kept = self._keep() if many else 0  # not while other writers wait
        common = {"profile": self._profile, "session": self._session, "host": self.host}
        try:
            with transaction(db):
                made = [
                    EventRecord(at=at, kind=kind, **{**common, **self._hide(fields)})
                    for at, kind, fields in batch
                ]
                events.add(db, made)
                if many:
                    events.prune(db, kept)
            self._written = 0 if many else self._written + len(batch)
        except BaseException:
            self.dropped += lost
            raise
