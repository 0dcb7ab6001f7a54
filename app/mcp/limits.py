"""Limits of time, bytes and entries for a server: one decision each, reading or serving."""

import math
import re
import time
from collections.abc import Callable

# ---- seconds
SERVING_QUIET = 12.0  # a starting server without sign of life; hosts themselves wait 15 to 60 s
PROBE_QUIET = 5.0  # the same for a server that may not know server/discover
START_TOTAL = 180.0  # a start, whatever the server does
LIST_SECONDS = 10.0  # a list that a host waits for
SILENT_CALL = 600.0  # a server that neither sends nor works for so long will not answer
LONGEST_CALL = 3600.0  # a request without a limit of its own, whatever its server sends meanwhile
STRAY_SECONDS = 5.0  # a lone request after an answer that belongs to none
STRAY_AMONG_SECONDS = 60.0  # several that wait then: most of them will still be answered
WORKING_SHARE = 0.01  # of a CPU in the quiet time: less is mere waiting
_LOOK_SECONDS = 1.0  # between two looks at the process tree
_POLL_SECONDS = 0.1

# ---- sizes
MESSAGE_BYTES = 128 * 1024 * 1024  # an answer to a call may be a file
MAX_DEPTH = 500  # levels of nesting; the code recurses, and Python stops at 1,000
MAX_VALUES = 1_000_000  # in one message; each costs up to 250 bytes once it is parsed
JUNK_LINES = 20_000  # in a row that are no messages
JUNK_BYTES = 64 * 1024 * 1024
TOOLS = 5_000
LIST_CHARACTERS = 16_000_000  # of one list's entries, as JSON
EXTRAS = 2_000  # prompts, resources or templates
PAGES = 1_000

_MANY_VALUES_BYTES = 2 * MAX_VALUES  # what is shorter cannot hold more
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class Bounds:
    """Limits of what a connection may send: bytes a message, and in all."""

    __slots__ = ("message", "total")

    def __init__(self, message: int = MESSAGE_BYTES, total: float = math.inf) -> None:
        self.message = message
        self.total = total


class NotJsonError(ValueError):
    """The line is no JSON-RPC message."""


class TooLargeError(NotJsonError):
    """A message beyond all bounds; the text goes on from "It sent "."""


class Shape:
    """Depth and number of values of JSON that comes in pieces, without parsing it."""

    __slots__ = ("_open", "_string", "_values")

    def __init__(self) -> None:
        self._open = b""  # the brackets that wait for their partners
        self._string = b""  # how a string began that has not ended yet
        self._values = 0

    def feed(self, piece: bytes) -> None:
        """Take in more; raises TooLargeError."""
        plain, quote, string = re.sub(
            _STRING, b"", self._string + piece, flags=re.DOTALL
        ).partition(b'"')
        half_escape = (len(string) - len(string.rstrip(b"\\"))) % 2
        self._string = quote + b"\\" * half_escape
        brackets = plain.translate(_BRACKETS, _NO_BRACKETS)
        self._values += plain.count(b",") + brackets.count(b"[")
        if self._values > MAX_VALUES:
            raise TooLargeError(f"JSON of over {MAX_VALUES:,} values")
        self._open = _unpaired(self._open + brackets)
        if not self._open and not self._string:
            self._values = 0  # a message is complete, another may follow


def _unpaired(brackets: bytes) -> bytes:
    """The brackets that are still open; each round takes the innermost pairs away."""
    for _ in range(MAX_DEPTH + 1):
        fewer = brackets.replace(b"[]", b"")
        if fewer == brackets:
            break
        brackets = fewer
    else:
        raise TooLargeError("JSON that is nested too deeply")
    still_open = brackets.lstrip(b"]")
    if len(still_open) > MAX_DEPTH:
        raise TooLargeError("JSON that is nested too deeply")
    return still_open


def check_shape(line: bytes) -> None:
    """Refuse what would take gigabytes or the stack once parsed; raises TooLargeError."""
    opened = line.count(b"[") + line.count(b"{")
    if opened <= MAX_DEPTH and (
        len(line) <= _MANY_VALUES_BYTES or line.count(b",") + opened <= MAX_VALUES
    ):
        return  # nearly always
    if line.lstrip()[:1] in (b"{", b"["):  # anything else is no message
        Shape().feed(line)


class HungError(Exception):
    """A server did not answer in its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"It did not answer within {seconds:.0f} s.")
        self.seconds = seconds


class StoppedError(Exception):
    """Raised when a caller gave up waiting."""


class Watch:
    """Detects a server that hangs: `quiet` s without sign of life, or `total` s in all.

    Signs of life are answers, and `progress`: CPU seconds of its processes and its output.
    """

    def __init__(
        self,
        quiet: float,
        total: float,
        *,
        cancelled: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.progress: Callable[[], float] = lambda: 0.0
        self.waiting_for = "to be started"
        self._quiet = quiet
        self._total = total
        self._cancelled = cancelled
        self._clock = clock
        self._began = self._alive = self._looked = clock()
        self._mark = 0.0

    def restart(self) -> None:
        """The server has answered, or is asked something else."""
        self._alive = self._looked = self._clock()
        self._mark = self.progress()

    def wait(self, answered: Callable[[float], bool], most: float = math.inf) -> None:
        """Wait for an answer, quiet for `most` s; raises HungError or StoppedError."""
        self.restart()
        quiet = min(self._quiet, most)
        while not answered(_POLL_SECONDS):
            self._check(quiet)

    def _check(self, quiet: float) -> None:
        if self._cancelled():
            raise StoppedError
        now = self._clock()
        if now - self._looked >= min(_LOOK_SECONDS, quiet / 4):
            self._looked, value = now, self.progress()
            self._mark = min(self._mark, value)  # a process that ended took its time out of the sum
            if value - self._mark >= WORKING_SHARE * quiet:
                self._alive, self._mark = now, value
        for since, seconds in (self._began, self._total), (self._alive, quiet):
            if now - since > seconds:
                raise HungError(seconds)
