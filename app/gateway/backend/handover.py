"""Direct writes of a backend to the host, without ever leaving half a line or a doubt.

A line goes into a pipe of the adapter's, and on from there to the host in one step of the kernel
(splice), so that the pipe tells which of the two has happened; around that step the backend notes
the line's number on a page that both processes share. Whenever the backend ends, the adapter finds
there what the host has, and brings it what is still in the pipe.

An adapter imports this: builtins, `os` and app/system/native.py only.
"""

import _socket
import os
import sys

from app.system.native import native

GIVEN = b"\1"  # comes with the host's own pipes
LONGEST = 4096  # bytes of a line; a pipe takes as many whole or not at all
PAGE = 4096  # bytes, words of eight
LOG = 1 << 17  # bytes behind the page: what the backend has read of the host, as it came
WORD = 8
ON_ITS_WAY = 0  # word: the number of the line that leaves the pipe, plus one; 0 for none
PASSED_ON = 1  # word: how many lines of the backend the adapter has written to the host
READ = 2  # word: how many bytes of the log are filled; behind them are zeros
SLOTS = range(3, PAGE // WORD)  # words: numbers whose answers the host has, in a ring; 0 for free
_AT_ONCE = 64  # slots
_FIFO, _SOCKET = 0o01, 0o14  # kinds of files, as in st_mode


class Handover:
    """The adapter's side; raises OSError where the system has not what is needed."""

    def __init__(self, host: tuple[int, int] = (0, 1)) -> None:
        kinds = {os.fstat(end).st_mode >> 12 for end in host}
        if not kinds <= {_FIFO, _SOCKET}:
            raise OSError
        self._host = host
        self._taken = 0  # bytes of the log
        self._slot = SLOTS.start
        self._passed_on = 0
        self._page = native.shared_page(PAGE + LOG)
        self._pipe = native.quick_pipe()
        self._bell, self._far_bell = native.socket_pair()

    def rights(self) -> tuple[int, ...]:
        """The descriptors for the backend."""
        return (*self._host, *self._pipe, self._far_bell.fileno(), self._page)

    def give(self, link: "_socket.socket") -> None:
        """Send them to a backend, before any line."""
        native.send_descriptors(link, GIVEN, self.rights())
        self._far_bell.close()

    def rung(self) -> bool:
        """Wait until the backend wants the log emptied; False where it has ended."""
        try:
            return bool(self._bell.recv(1))
        except OSError:
            return False

    def answered(self) -> list[int]:
        """The numbers that the backend itself has answered since the last time."""
        numbers: list[int] = []
        while True:
            wanted = min(_AT_ONCE, SLOTS.stop - self._slot)
            data = native.pread(self._page, wanted * WORD, self._slot * WORD)
            words = [_word(data[at : at + WORD]) for at in range(0, len(data), WORD)]
            new = words[: words.index(0)] if 0 in words else words
            if new:
                native.pwrite(self._page, bytes(len(new) * WORD), self._slot * WORD)
                numbers += new
                self._slot += len(new)
                if self._slot == SLOTS.stop:
                    self._slot = SLOTS.start
            if len(new) < wanted:
                return numbers

    def pass_on(self, lines: int) -> None:
        """The host has so many more of the lines that came through this process."""
        self._passed_on += lines
        native.pwrite(self._page, self._passed_on.to_bytes(WORD, sys.byteorder), PASSED_ON * WORD)

    def requests(self) -> bytes:
        """Bytes that the backend has read of the host since the last call."""
        end = _word(native.pread(self._page, WORD, READ * WORD))
        data = native.pread(self._page, end - self._taken, PAGE + self._taken)
        self._taken += len(data)
        return data

    def empty(self) -> None:
        """Make room in the log, which was taken to its end, for a backend that waits for it."""
        native.pwrite(self._page, bytes(self._taken), PAGE)
        native.pwrite(self._page, bytes(WORD), READ * WORD)
        self._taken = 0
        try:
            self._bell.send(GIVEN)
        except OSError:
            return  # it ended meanwhile

    def last_requests(self) -> bytes:
        """Once the backend has ended: also what it had no time to note; no message has a zero."""
        data = self.requests()
        rest = native.pread(self._page, LOG - self._taken, PAGE + self._taken)
        return data + rest.partition(b"\0")[0]

    def settle(self) -> tuple[bytes, list[int]]:
        """Once the backend has ended: the line that it left in the pipe, and what it answered."""
        numbers = self.answered()
        line = b""
        last = _word(native.pread(self._page, WORD, ON_ITS_WAY * WORD))
        if last:  # else what is in the pipe was never meant to go yet
            numbers.append(last - 1)
            try:
                line = os.read(self._pipe[0], LONGEST)
            except BlockingIOError:  # the host has it
                line = b""
        for descriptor in (*self._pipe, self._page):
            os.close(descriptor)
        self._far_bell.close()  # so that who waits for the other end goes on
        self._bell.close()
        return line, numbers


def _word(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)
