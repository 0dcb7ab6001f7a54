"""The one bridge between the window and other threads."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from app.core.changes import Changes
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from ui.shell.problems import as_problem

T = TypeVar("T")


class Job:
    """Handle of long work: its inputs and its cancelling; safe to use from any thread."""

    def __init__(self, report: Callable[[object], None]) -> None:
        self.cancelled = threading.Event()
        self.report = report  # report(value): calls progress(value) on the GUI thread

    def cancel(self) -> None:
        """Ask the work to stop; it still ends by calling done or failed."""
        self.cancelled.set()


@dataclass(frozen=True, slots=True)
class _Callbacks:
    done: Callable[[Any], None] | None
    failed: Callable[[ToolcribError], None] | None
    progress: Callable[[Any], None] | None = None
    owner: QObject | None = None

    @property
    def wanted(self) -> bool:
        """True if the widget that owns them still exists."""
        return self.owner is None or isValid(self.owner)


class _StoreThread:
    """A thread with a store connection of its own, opened when it is first needed."""

    def __init__(self, ctx: AppContext, name: str) -> None:
        self._ctx = ctx
        self._pool = ThreadPoolExecutor(1, name)
        self._db: Db | None = None

    def submit(self, fn: Callable[[Db], T]) -> "Future[T]":
        return self._pool.submit(lambda: fn(self._open()))

    def close(self) -> None:
        """Finish what was given."""
        self._pool.submit(self._close_db)
        self._pool.shutdown(wait=True)

    def _open(self) -> Db:
        if self._db is None:
            self._db = self._ctx.open_store()
        return self._db

    def _close_db(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


class Tasks(QObject):
    """Runs functions on threads: for the store, the keychain, long work and waiting.

    With `keychain`, fn(db) reads or keeps secrets: a keychain may ask the user or hang, and must
    not hold up what only reads the store.

    The functions must not touch widgets; `done`, `failed` and `progress` run on the GUI thread,
    in order, and never after close() nor after their `owner` was deleted. They stay on this side:
    a widget's last reference must not die on a worker thread.
    Signals: changed(Changes, who began it or None) after a change; failed(ToolcribError) when no
    one else took it; busy(bool) when the first task starts and the last ends; closing() before
    the threads end.
    """

    changed = Signal(object, object)
    failed = Signal(object)
    busy = Signal(bool)
    closing = Signal()
    _ended = Signal(int, bool, object)
    _progressed = Signal(int, object)

    def __init__(self, ctx: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ctx = ctx
        self._waiting: dict[int, _Callbacks] = {}
        self._jobs: dict[int, Job] = {}
        self._newest: dict[Hashable, int] = {}  # numbers of the newest requests
        self._next = 0
        self._closed = False
        self._store = _StoreThread(ctx, "toolcrib-store")
        self._keychain = _StoreThread(ctx, "toolcrib-keychain")
        self._long = ThreadPoolExecutor(1, "toolcrib-work")
        self._patient = ThreadPoolExecutor(1, "toolcrib-wait")
        queued = Qt.ConnectionType.QueuedConnection
        self._ended.connect(self._on_ended, queued)
        self._progressed.connect(self._on_progressed, queued)

    @property
    def idle(self) -> bool:
        """True if nothing runs or waits to be delivered."""
        return not self._waiting

    def request(
        self,
        fn: Callable[[Db], T],
        done: Callable[[T], None],
        failed: Callable[[ToolcribError], None] | None = None,
        *,
        owner: QObject | None = None,
        keychain: bool = False,
    ) -> None:
        """Run fn(db) on the store thread, then done(result)."""
        self._submit(fn, _Callbacks(done, failed, owner=owner), keychain=keychain)

    def latest(
        self,
        key: Hashable,
        fn: Callable[[Db], T],
        done: Callable[[T], None],
        failed: Callable[[ToolcribError], None] | None = None,
        *,
        owner: QObject | None = None,
        keychain: bool = False,
    ) -> None:
        """As `request`, but only the newest request of that key is answered.

        Those that are overtaken before the store thread comes to them are never run.
        """
        number = self.overtake(key)
        results: list[T] = []

        def run(db: Db) -> None:
            if self._newest[key] == number:
                results.append(fn(db))

        def deliver(_none: None) -> None:
            if self._newest[key] == number:
                done(results[0])

        def report(error: ToolcribError) -> None:
            if self._newest[key] == number:
                (failed or self.failed.emit)(error)

        self.request(run, deliver, report, owner=owner, keychain=keychain)

    def overtake(self, key: Hashable) -> int:
        """Drop answers of that key that are still to come; returns the number of the next one."""
        self._newest[key] = self._newest.get(key, 0) + 1
        return self._newest[key]

    def change(
        self,
        fn: Callable[[Db], Changes],
        done: Callable[[Changes], None] | None = None,
        failed: Callable[[ToolcribError], None] | None = None,
        by: QObject | None = None,
        *,
        keychain: bool = False,
    ) -> None:
        """Run fn(db), which writes, on the store thread; then done and `changed`."""

        def ended(changes: Changes) -> None:
            if done is not None:
                done(changes)
            self.changed.emit(changes, by)

        self._submit(fn, _Callbacks(ended, failed), keychain=keychain)

    def work(
        self,
        fn: Callable[[Job], T],
        done: Callable[[T], None],
        *,
        failed: Callable[[ToolcribError], None] | None = None,
        progress: Callable[[Any], None] | None = None,
    ) -> Job:
        """Run fn(job) on the long-work thread; a store connection it needs is its own."""
        return self._begin(self._long, fn, _Callbacks(done, failed, progress))

    def wait(
        self,
        fn: Callable[[Job], T],
        done: Callable[[T], None],
        *,
        failed: Callable[[ToolcribError], None] | None = None,
        progress: Callable[[Any], None] | None = None,
        owner: QObject | None = None,
    ) -> Job:
        """Run fn(job) on a thread of its own: it waits for a person or a far server."""
        return self._begin(self._patient, fn, _Callbacks(done, failed, progress, owner))

    def close(self) -> None:
        """Cancel work and waiting, finish what the store's threads have begun and were given."""
        if self._closed:
            return
        self._closed = True
        for job in self._jobs.values():
            job.cancel()
        self.closing.emit()
        self._patient.shutdown(wait=True, cancel_futures=True)
        self._long.shutdown(wait=True, cancel_futures=True)
        self._keychain.close()
        self._store.close()
        self._waiting.clear()
        self._jobs.clear()

    def _submit(self, fn: Callable[[Db], object], callbacks: _Callbacks, *, keychain: bool) -> None:
        thread = self._keychain if keychain else self._store
        self._start(self._expect(callbacks), lambda: thread.submit(fn))

    def _begin(
        self, pool: ThreadPoolExecutor, fn: Callable[[Job], object], callbacks: _Callbacks
    ) -> Job:
        number = self._expect(callbacks)
        job = Job(lambda value: self._progressed.emit(number, value))
        self._jobs[number] = job
        self._start(number, lambda: pool.submit(fn, job))
        return job

    def _expect(self, callbacks: _Callbacks) -> int:
        self._next += 1
        self._waiting[self._next] = callbacks
        if len(self._waiting) == 1:
            self.busy.emit(True)
        return self._next

    def _start(self, number: int, submit: "Callable[[], Future[T]]") -> None:
        if self._closed:
            self._waiting.pop(number, None)
            return
        submit().add_done_callback(lambda ended: self._deliver(number, ended))

    def _deliver(self, number: int, future: "Future[T]") -> None:
        if future.cancelled():
            return
        error = future.exception()
        self._ended.emit(number, error is None, future.result() if error is None else error)

    @Slot(int, bool, object)
    def _on_ended(self, number: int, well: bool, value: object) -> None:
        callbacks = self._waiting.pop(number, None)
        self._jobs.pop(number, None)
        if callbacks is None or self._closed:
            return
        if callbacks.wanted:
            self._answer(callbacks, well, value)
        if not self._waiting:
            self.busy.emit(False)

    def _answer(self, callbacks: _Callbacks, well: bool, value: object) -> None:
        if not well and isinstance(value, BaseException):
            (callbacks.failed or self.failed.emit)(as_problem(value))
        elif callbacks.done is not None:
            callbacks.done(value)

    @Slot(int, object)
    def _on_progressed(self, number: int, value: object) -> None:
        callbacks = self._waiting.get(number)
        if callbacks is None or self._closed or not callbacks.wanted:
            return
        if callbacks.progress is not None:
            callbacks.progress(value)
