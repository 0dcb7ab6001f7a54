"""Reads servers, two at a time, and stores what is new; indexing goes on beside it."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import anyio
import apsw
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.server_logs import add_lines
from app.core.text import plural
from app.indexing.findings import BATCH, KeepGoing
from app.indexing.indexer import Indexer, Progress
from app.indexing.ingest import save_reading, text_judge
from app.indexing.reading import Limits, Reading
from app.indexing.tool_checks import list_hash
from app.registry.probe import ProbeOptions, read_server
from app.registry.register import Target
from app.registry.session_log import log_lines
from app.secrets.secret_store import SecretStore
from store.connection import transaction
from store.errors import StoreError
from store.records import READING, STOPPED, WAITING, ToolDelta

if TYPE_CHECKING:
    from app.signin.auth import StoredAuth

COUNT_SECONDS = 3.0  # that counting may go on after a stop


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Progress of the reading of one server, in the words of store.records."""

    server_id: int
    name: str
    status: str
    problem: str = ""
    tools: int = 0

    @property
    def text(self) -> str:
        """The status as people read it."""
        return f"read {plural(self.tools, 'tool')}" if self.status == "read" else self.status


OnStatus = Callable[[ServerStatus], None]


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Result of a scan; `counted` and `encoded` are the numbers of tools done anew."""

    servers: tuple[ServerStatus, ...]
    counted: int = 0
    encoded: int = 0
    delta: ToolDelta = field(default_factory=ToolDelta)
    note: str = ""  # why meaning is not searched yet, "" when it is
    changes: Changes = field(default_factory=lambda: Changes(servers=True, tools=True))


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Callbacks of a scan, and its thoroughness."""

    on_status: OnStatus = lambda _status: None
    on_progress: Progress = lambda _text, _done: None
    cancel: Event = field(default_factory=Event)
    prepare_encoder: bool = True  # False: use it only where it was prepared before
    probe: ProbeOptions | None = None  # None: as the settings say


def scan(
    ctx: AppContext, targets: Sequence[Target], options: ScanOptions | None = None
) -> ScanReport:
    """Read these servers and index what is new; call it on a thread that may block.

    `on_status` is called on this thread, `on_progress` on a helper, perhaps at the same time.
    Raises StoreError when the store cannot be written.
    """
    work = _Scan(ctx, targets, options or ScanOptions())
    try:
        return anyio.run(work.run)
    except ExceptionGroup as group:
        raise _first(group) from group


def _once(action: Callable[[], None]) -> Callable[[], None]:
    """The action, but only the first time."""
    left = [action]

    def act() -> None:
        if left:
            left.pop()()

    return act


def _first(error: Exception) -> Exception:
    """First error inside a task group's."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


class _Scan:
    """One scan: readers put server ids into a stream, one worker thread indexes them."""

    def __init__(self, ctx: AppContext, targets: Sequence[Target], options: ScanOptions) -> None:
        self._ctx = ctx
        self._targets = targets
        self._options = options
        self._probe = options.probe or ProbeOptions(
            Limits.of(ctx.settings), scratch_home=ctx.settings.scratch_home
        )
        self._secrets = SecretStore.open(ctx.paths)
        self._statuses: dict[int, ServerStatus] = {}
        self._deltas: list[ToolDelta] = []
        self._note = ""

    async def run(self) -> ScanReport:
        """Everything, in order."""
        with self._ctx.store() as db, self._ctx.store() as indexing:
            indexer = Indexer(self._ctx, indexing, progress=self._options.on_progress)
            await self._all(db, indexer)
        return ScanReport(
            tuple(self._statuses.values()),
            counted=indexer.counted,
            encoded=indexer.encoded,
            delta=_sum(self._deltas),
            note=self._note,
        )

    async def _all(self, db: apsw.Connection, indexer: Indexer) -> None:
        slots = anyio.Semaphore(max(1, self._ctx.settings.scan_at_once))
        for target in self._targets:
            self._say(target, WAITING)
        send, receive = anyio.create_memory_object_stream[int](len(self._targets))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._index, receive, indexer)
            async with send, anyio.create_task_group() as readers:
                for target in self._targets:
                    readers.start_soon(partial(self._read, db, target, slots=slots, send=send))

    async def _read(
        self,
        db: apsw.Connection,
        target: Target,
        *,
        slots: anyio.Semaphore,
        send: MemoryObjectSendStream[int],
    ) -> None:
        await slots.acquire()
        free = _once(slots.release)
        try:
            if self._options.cancel.is_set():
                self._say(target, STOPPED)
                return
            self._say(target, READING)

            def on_reading(reading: Reading) -> None:
                self._read_done(target, reading)
                free()  # a server that is slow to stop holds up no other

            reading = await read_server(
                target.placed(Path.home()),
                options=self._probe,
                cancel=self._options.cancel,
                era=target.era,
                on_reading=on_reading,
                auth_for=partial(_stored_auth, self._secrets, target.name),
            )
        finally:
            free()
        self._read_done(target, reading)
        kept = await self._save(db, target, reading)
        if kept is not reading:
            self._say(target, kept.status, kept.problem, tools=len(kept.tools))
        self._log(target, reading)
        if kept.read:
            await send.send(target.server_id)

    async def _save(self, db: apsw.Connection, target: Target, reading: Reading) -> Reading:
        """Store a reading with its findings, less what there was no time to judge; what is stored.

        The texts are judged where others are not held up.
        """
        judge = text_judge(db, target.server_id, reading.tools)
        if judge is None:  # forgotten meanwhile
            return reading
        await to_thread.run_sync(judge.run, self._judging(target))
        if judge.left and self._options.cancel.is_set():
            reading = Reading(STOPPED, "You stopped the reading.", stderr=reading.stderr)
        elif judge.left:
            reading = self._judged_part(reading, judge.left)
        with transaction(db):
            delta = save_reading(db, target.server_id, reading, judge.judged, at=self._ctx.clock())
            self._deltas.append(delta)
        return reading

    def _judging(self, target: Target) -> KeepGoing:
        """Say how far the judging of a long list is; no, past the time or when it is stopped."""
        goes_on = self._in_time()

        def keep_going(done: int, total: int) -> bool:
            if total > BATCH:
                text = f"Judged {done:,} of {total:,} tools of {target.name}"
                self._options.on_progress(text, done / total)
            return goes_on()

        return keep_going

    def _judged_part(self, reading: Reading, left: Collection[str]) -> Reading:
        """The reading without the tools of these texts."""
        kept = tuple(tool for tool in reading.tools if tool.hash not in left)
        note = (
            f"Judging its tools took over {self._probe.limits.total_seconds:g} s:"
            f" {len(kept):,} of {len(reading.tools):,} are in; the next reading goes on."
        )
        problem = f"{reading.problem} {note}".strip()
        return replace(reading, tools=kept, list_hash=list_hash(kept), problem=problem)

    def _in_time(self) -> Callable[[], bool]:
        """Return a check that is True while the server's time lasts and no stop was requested."""
        until = time.monotonic() + self._probe.limits.total_seconds
        return lambda: time.monotonic() < until and self._goes_on()

    async def _index(self, receive: MemoryObjectReceiveStream[int], indexer: Indexer) -> None:
        """Index each server as it comes, and encode once nothing else waits."""
        try:
            await to_thread.run_sync(indexer.recheck, self._goes_on)
            async with receive:
                async for server_id in receive:
                    work = partial(indexer.texts, server_id, keep_going=self._in_time())
                    await to_thread.run_sync(work)
                    if not receive.statistics().current_buffer_used:
                        await self._encode(receive, indexer, prepare=False)
            if self._options.cancel.is_set():  # what was read is shown with its tokens
                until = time.monotonic() + COUNT_SECONDS
                work = partial(indexer.texts, keep_going=lambda: time.monotonic() < until)
                await to_thread.run_sync(work)
            else:
                work = partial(indexer.texts, keep_going=self._in_time())
                left = await to_thread.run_sync(work)
                await self._encode(None, indexer, prepare=self._options.prepare_encoder)
                if left:
                    self._note = f"{plural(left, 'tool')} to count; the next scan goes on."
        except (ToolcribError, StoreError) as error:
            self._note = error.title

    def _goes_on(self) -> bool:
        return not self._options.cancel.is_set()

    async def _encode(
        self, receive: MemoryObjectReceiveStream[int] | None, indexer: Indexer, *, prepare: bool
    ) -> None:
        """Encode until servers wait to be indexed, or the user gives up."""

        def keep_going() -> bool:
            waits = receive is not None and receive.statistics().current_buffer_used
            return not waits and not self._options.cancel.is_set()

        work = partial(indexer.vectors, keep_going=keep_going, prepare=prepare, clock=self._in_time)
        self._note = await to_thread.run_sync(work)

    def _read_done(self, target: Target, reading: Reading) -> None:
        known = self._statuses[target.server_id]
        if known.status == READING:  # noted before the server was stopped, or now
            self._say(target, reading.status, reading.problem, tools=len(reading.tools))

    def _log(self, target: Target, reading: Reading) -> None:
        """Keep the messages and the output; a log that cannot be written stops no reading."""
        with suppress(OSError, ToolcribError):
            add_lines(self._ctx.paths.logs, target.name, log_lines(reading, self._ctx.clock()))

    def _say(self, target: Target, status: str, problem: str = "", *, tools: int = 0) -> None:
        state = ServerStatus(target.server_id, target.name, status, problem, tools)
        self._statuses[target.server_id] = state
        self._options.on_status(state)


def _stored_auth(secrets: SecretStore, name: str, url: str) -> "StoredAuth":
    """The earlier sign-in of a server at its URL."""
    from app.signin.auth import StoredAuth  # httpx2: most scans reach no URL

    return StoredAuth(secrets, name, url)


def _sum(deltas: Sequence[ToolDelta]) -> ToolDelta:
    return ToolDelta(
        added=tuple(i for delta in deltas for i in delta.added),
        changed=tuple(i for delta in deltas for i in delta.changed),
        gone=tuple(i for delta in deltas for i in delta.gone),
        unchanged=sum(delta.unchanged for delta in deltas),
    )
