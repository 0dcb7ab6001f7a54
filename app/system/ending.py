"""Signals that ask a process to end, heard at once.

Python runs handlers on the main thread, which may sit in a read with one still unrun (3.11 forgets
it when threads switch); the interpreter's C handler writes to a descriptor at once. Windows cannot
wait for pipes; there the signal interrupts the read.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from app.system.native import native

WINDOWS = sys.platform == "win32"
_NAMES = ("SIGTERM", "SIGINT", "SIGHUP")  # Windows has no SIGHUP
_NUMBERS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The byte in the descriptor does the rest."""


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def on_end(handler: Callable[[int, FrameType | None], object] = _noted, *, wake: int = -1) -> None:
    """Have the signals that end a process run `handler`, and their numbers written to `wake`."""
    if wake >= 0:
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in _NUMBERS:
        signal.signal(number, handler)


def end_as_usual() -> None:
    """Give the signals back to the system."""
    signal.set_wakeup_fd(-1)
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_DFL)


def end_waiter(*, windows: bool = WINDOWS) -> Callable[[float], bool]:
    """Return a function that waits that many seconds for such a signal; True if one came."""
    if windows:
        on_end(_leave)
        never = threading.Event()
        return never.wait
    import select

    reader, writer = native.socket_pair()
    writer.setblocking(False)
    on_end(wake=writer.detach())
    return lambda seconds: bool(select.select([reader], [], [], seconds)[0])


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Keep an interrupt until the block is done, for imports.

    A native module whose import is interrupted crashes the process, or raises another error.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *given: held.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])
