"""The backend's own way to a host: short lines without the adapter between (see handover.py)."""

import mmap
import os
import select
import stat
from contextlib import suppress

from app.gateway.backend.handover import LONGEST, ON_ITS_WAY, PAGE, PASSED_ON, SLOTS

_COUNT = 4


class DirectWay:
    """Lines to the host itself; whoever calls makes sure that there is one at a time.

    Raises OSError where the host is gone, or these are no such descriptors.
    """

    def __init__(self, descriptors: list[int]) -> None:
        if len(descriptors) != _COUNT:
            _close(descriptors)
            raise OSError("These are no descriptors of a host.")
        *self._descriptors, page = descriptors
        self._host, self._reader, self._writer = self._descriptors
        try:
            self._page = mmap.mmap(page, PAGE)
        except (OSError, ValueError) as error:
            _close(self._descriptors)
            raise OSError(str(error)) from error
        finally:
            os.close(page)
        self._words = memoryview(self._page).cast("q")
        self._slot = SLOTS.start
        self._others = 0  # lines that went through the adapter
        self._room: select.poll | None = None
        if stat.S_ISSOCK(os.fstat(self._host).st_mode):  # an older kernel waits for room in those
            self._room = select.poll()
            self._room.register(self._host, select.POLLOUT)

    def send(self, line: bytes, number: int) -> bool:
        """Whether the host has it; else it must go through the adapter.

        So it must where it is long, the host lags behind, or has not got all that was sent so.
        """
        words = self._words
        if len(line) > LONGEST or words[PASSED_ON] != self._others or words[self._slot]:
            return False
        if self._room is not None and not self._room.poll(0):
            return False
        os.write(self._writer, line)
        words[ON_ITS_WAY] = number + 1  # from here on the adapter brings it if we cannot
        try:
            os.splice(self._reader, self._host, len(line), flags=os.SPLICE_F_NONBLOCK)
        except ConnectionError:  # nobody reads any more
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

    def skip(self) -> None:
        """A line goes through the adapter; none may overtake it."""
        self._others += 1

    def close(self) -> None:
        """Let the host go."""
        self._words.release()
        self._page.close()
        _close(self._descriptors)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
