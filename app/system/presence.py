"""Presence of an open window, which can ask its user: a lock that ends with its process."""

import os
from contextlib import suppress

from store.files import lock

NAME = "window.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Presence:
    """The lock of one window; of several windows one holds it, and another after it."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, NAME)
        self._handle = -1

    def hold(self) -> None:
        """Hold the lock unless another window does."""
        if self._handle >= 0:
            return
        with suppress(OSError):
            handle = os.open(self._path, _FLAGS, 0o600)
            if lock(handle):
                self._handle = handle
            else:
                os.close(handle)

    def release(self) -> None:
        """Let it go."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_window_open(folder: str) -> bool:
    """True if a window over this folder is open."""
    try:
        handle = os.open(os.path.join(folder, NAME), os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock(handle)
    except OSError:
        return False
    finally:
        os.close(handle)
