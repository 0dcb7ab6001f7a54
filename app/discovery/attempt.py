"""One attempt to read a server: what is known of it, and the watch that may end it."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event

import anyio

from app.discovery.reading import Limits, Reading
from store.records import STOPPED, TOOK_TOO_LONG

_TICK_SECONDS = 0.1
_LOOK_SECONDS = 1.0  # between two looks at the process tree
_PROGRESS = 0.01  # of a CPU, or megabytes a second: less in the quiet time is mere waiting


@dataclass(slots=True)
class Attempt:
    """What the watch may look at while a server is read; `reading` is what came of it."""

    limits: Limits
    cancel: Event | None = None
    on_reading: Callable[[Reading], None] = lambda _reading: None
    reading: Reading | None = None
    progress: Callable[[], float] = lambda: 0.0
    waiting_for: Callable[[], str] = lambda: "to be started"
    silent_death: bool = False  # it ended at the greeting and gave no reason
    started: float = field(default_factory=time.monotonic)

    @property
    def cancelled(self) -> bool:
        """Whether the user gave up."""
        return self.cancel is not None and self.cancel.is_set()


async def guarded(attempt: Attempt, work: Callable[[], Awaitable[Reading]]) -> Reading:
    """The reading that `work` makes, or why it was ended before it made one."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(_watch, attempt, tasks.cancel_scope))
        attempt.reading = await work()
        tasks.cancel_scope.cancel()
    return attempt.reading or Reading(STOPPED, "The reading was stopped.")


async def _watch(attempt: Attempt, scope: anyio.CancelScope) -> None:
    """Cancel the scope when the server is stuck, too slow, or the user gives up."""
    look_seconds = min(_LOOK_SECONDS, attempt.limits.quiet_seconds / 4)
    quiet_since = last_look = time.monotonic()
    mark, waiting = attempt.progress(), attempt.waiting_for()
    while attempt.reading is None:
        await anyio.sleep(_TICK_SECONDS)
        now = time.monotonic()
        if now - last_look >= look_seconds:
            last_look, value = now, attempt.progress()
            mark = min(mark, value)  # a process that ended took its CPU time out of the sum
            if (
                value - mark >= _PROGRESS * attempt.limits.quiet_seconds
                or attempt.waiting_for() != waiting
            ):
                quiet_since, mark, waiting = now, value, attempt.waiting_for()
        verdict = _verdict(attempt, now, quiet_since)
        if verdict is not None and attempt.reading is None:
            attempt.reading = verdict
            scope.cancel()


def _verdict(attempt: Attempt, now: float, quiet_since: float) -> Reading | None:
    """Why the attempt ends here, None when it may go on."""
    limits = attempt.limits
    if attempt.cancelled:
        return Reading(STOPPED, "You stopped the reading.")
    for since, seconds in (
        (attempt.started, limits.total_seconds),
        (quiet_since, limits.quiet_seconds),
    ):
        if now - since > seconds:
            problem = f"Waited {seconds:g} s for it {attempt.waiting_for()}."
            return Reading(TOOK_TOO_LONG, problem)
    return None
