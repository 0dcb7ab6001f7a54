"""The backend's own way to and from a host, without the adapter between (see handover.py)."""

import mmap
import os
import stat
from contextlib import suppress

from app.gateway.backend.handover import (
    GIVEN,
    LOG,
    LONGEST,
    ON_ITS_WAY,
    PAGE,
    PASSED_ON,
    READ,
    SLOTS,
)
from app.system.native import native

_COUNT = 6
_AT_ONCE = 1 << 16  # bytes
_FULL = LOG - (1 << 14)  # bytes; beyond, the adapter empties the log


class DirectWay:
    """Lines to the host itself, one at a time, and what it sends, for one thread alone.

    Raises OSError where the host is gone, or these are no such descriptors.
    """

    def __init__(self, descriptors: list[int]) -> None:
        if len(descriptors) != _COUNT:
            _close(descriptors)
            raise OSError("The message has no valid descriptors.")
        *self._descriptors, page = descriptors
        self._from_host, self._host, self._reader, self._writer, self._bell = self._descriptors
        self._link = -1
        try:
            self._page = mmap.mmap(page, PAGE + LOG)
        except (OSError, ValueError) as error:
            _close(self._descriptors)
            raise OSError(str(error)) from error
        finally:
            os.close(page)
        whole = memoryview(self._page)
        self._words, self._log = whole[:PAGE].cast("q"), whole[PAGE:]
        self._filled = 0
        self._come = native.poller()
        self._come.register(self._from_host, native.READABLE)
        self._slot = SLOTS.start
        self._others = 0  # lines that went through the adapter
        self._room = None
        if stat.S_ISSOCK(os.fstat(self._host).st_mode):  # an older kernel waits for room in those
            self._room = native.poller()
            self._room.register(self._host, native.WRITABLE)

    def send(self, line: bytes, number: int) -> bool:
        """Write a line to the host; False if it must go through the adapter.

        It must where it is long, the host lags behind, or has not got all lines sent directly.
        """
        words = self._words
        if len(line) > LONGEST or words[PASSED_ON] != self._others or words[self._slot]:
            return False
        if self._room is not None and not self._room.poll(0):
            return False
        os.write(self._writer, line)
        words[ON_ITS_WAY] = number + 1  # from here on the adapter brings it if we cannot
        try:
            native.move_bytes(self._reader, self._host, len(line))
        except ConnectionError:  # the host has closed its end
            raise
        except OSError:  # it lags behind, or nothing can be spliced to it
            words[ON_ITS_WAY] = 0
            os.read(self._reader, LONGEST)
            return False
        if number:
            words[self._slot] = number
            self._slot = self._slot + 1 if self._slot + 1 < SLOTS.stop else SLOTS.start
        words[ON_ITS_WAY] = 0
        return True

    def watch(self, link: int) -> None:
        """From here on `receive` waits for this connection too."""
        self._come.register(link, native.READABLE)
        self._link = link

    def receive(self) -> bytes | None:
        """The host's next bytes, b"" when it hung up; None where the adapter did or takes over."""
        while True:
            ready = self._come.poll()
            if len(ready) > 1 or ready[0][0] == self._link:
                return None
            if self._filled > _FULL and not self._make_room():
                return None
            start = self._filled
            try:
                size = native.readv(self._from_host, [self._log[start : start + _AT_ONCE]])
            except BlockingIOError:  # another process may have made it so
                continue
            self._filled = self._words[READ] = start + size
            return bytes(self._log[start : start + size])

    def _make_room(self) -> bool:
        """Let the adapter take the log in; False where it is gone."""
        os.write(self._bell, GIVEN)
        self._filled = 0
        return bool(os.read(self._bell, 1))

    def skip(self) -> None:
        """A line goes through the adapter; none may overtake it."""
        self._others += 1

    def close(self) -> None:
        """Let the host go."""
        _close(self._descriptors)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
