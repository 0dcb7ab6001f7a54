"""Work that one program does at a time: others wait for it, and say so."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from store.files import lock

_LOOK_SECONDS = 0.2


@contextmanager
def alone(file: Path, waits: Callable[[], bool]) -> Iterator[None]:
    """Hold a lock file; `waits` is called while another program has it, and ends the wait by False.

    Where no lock can be had nothing waits: done twice is better than not at all.
    """
    handle = None
    with suppress(OSError):  # as in a folder that users share
        handle = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if handle is not None:
            _take(handle, waits)
        yield
    finally:
        if handle is not None:
            os.close(handle)  # which also unlocks


def _take(handle: int, waits: Callable[[], bool]) -> None:
    with suppress(OSError):  # a file system without locks
        while not lock(handle) and waits():
            time.sleep(_LOOK_SECONDS)
