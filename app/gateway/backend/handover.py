"""What lets a backend write to the host itself, and still never leaves half a line or a doubt.

A line goes into a pipe of the adapter's, and on from there to the host in one step of the kernel
(splice), so that the pipe tells which of the two has happened; around that step the backend notes
the line's number on a page that both processes share. Whenever the backend ends, the adapter finds
there what the host has, and brings it what is still in the pipe.

An adapter imports this: builtins and `os` only.
"""

import os
import sys

LONGEST = 4096  # bytes of a line; a pipe takes as many whole or not at all
PAGE = 4096  # bytes, words of eight
WORD = 8
ON_ITS_WAY = 0  # word: the number of the line that leaves the pipe, plus one; 0 for none
PASSED_ON = 1  # word: how many lines of the backend the adapter has written to the host
SLOTS = range(2, PAGE // WORD)  # words: numbers whose answers the host has, in a ring; 0 for free
_AT_ONCE = 64  # slots
_FIFO, _SOCKET = 0o01, 0o14  # kinds of files, as in st_mode


class Handover:
    """The adapter's side; raises OSError where the system has not what is needed."""

    def __init__(self, host: int = 1) -> None:
        if sys.platform != "linux" or os.fstat(host).st_mode >> 12 not in (_FIFO, _SOCKET):
            raise OSError
        self._host = host
        self._slot = SLOTS.start
        self._passed_on = 0
        self._page = os.memfd_create("toolcrib")
        self._pipe = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.ftruncate(self._page, PAGE)

    def rights(self) -> bytes:
        """The descriptors for the backend, as the kernel wants them: host, pipe, page."""
        return b"".join(
            number.to_bytes(4, sys.byteorder) for number in (self._host, *self._pipe, self._page)
        )

    def answered(self) -> list[int]:
        """The numbers that the backend itself has answered since the last time."""
        numbers: list[int] = []
        while True:
            wanted = min(_AT_ONCE, SLOTS.stop - self._slot)
            data = os.pread(self._page, wanted * WORD, self._slot * WORD)
            words = [_word(data[at : at + WORD]) for at in range(0, len(data), WORD)]
            new = words[: words.index(0)] if 0 in words else words
            if new:
                os.pwrite(self._page, bytes(len(new) * WORD), self._slot * WORD)
                numbers += new
                self._slot += len(new)
                if self._slot == SLOTS.stop:
                    self._slot = SLOTS.start
            if len(new) < wanted:
                return numbers

    def pass_on(self, lines: int) -> None:
        """The host has so many more of the lines that came through this process."""
        self._passed_on += lines
        os.pwrite(self._page, self._passed_on.to_bytes(WORD, sys.byteorder), PASSED_ON * WORD)

    def settle(self) -> tuple[bytes, list[int]]:
        """Once the backend has ended: the line that it left in the pipe, and what it answered."""
        numbers = self.answered()
        line = b""
        last = _word(os.pread(self._page, WORD, ON_ITS_WAY * WORD))
        if last:  # else what is in the pipe was never meant to go yet
            numbers.append(last - 1)
            try:
                line = os.read(self._pipe[0], LONGEST)
            except BlockingIOError:  # the host has it
                line = b""
        for descriptor in (*self._pipe, self._page):
            os.close(descriptor)
        return line, numbers


def _word(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)
