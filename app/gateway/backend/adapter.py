"""The process that a host starts: it passes lines both ways between the host and the backend.

Memory and start-up are paid once per host and server entry, so nothing here imports more than
builtins and `os`; `json` is loaded only where a lost backend leaves requests to answer.
"""

import _socket
import _thread
import os
import time

from app.gateway.backend.attach import FOREVER, START_SECONDS, attach
from app.gateway.backend.handover import Handover
from app.gateway.lines import LineSplitter, messages_of, method_of
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from app.gateway.backend.rendezvous import Place

_CHUNK = 1 << 16
_LONGEST_OF_BACKEND = 1 << 30  # bytes of a line; what servers send is bounded before
_RECONNECTS = 3  # in a row, before the adapter serves by itself
_SHORT_LIFE = 2.0  # seconds; a backend that ends sooner counts as a failure in a row
_STATE_METHODS = (
    b"initialize",
    b"notifications/initialized",
    b"logging/setLevel",
    b"resources/subscribe",
    b"resources/unsubscribe",
)
_REPEATABLE = (b"initialize", b"ping")  # and lists: nothing is run by asking these again
HUNG_UP, REFUSED = b"$\n", b"!\n"  # of a backend: the host has ended, its pipes are not wanted
ALONE = b"-"  # behind a number whose line gets no answer
LOST = (
    "Toolcrib's backend ended while this was under way; it may have run."
    " Another backend serves from here on: ask again if repeating is safe."
)


class Adapter:
    """Two pumps between a host's pipes and the backend; survives the backend.

    The backend writes `#N` before the line that answers the host's N-th line, and alone for a
    line that gets no answer: so the adapter knows what is under way without reading JSON.
    """

    def __init__(
        self,
        place: "Place",
        argv: "Sequence[str]",
        link: "_socket.socket",
        state: "Sequence[bytes]" = (),
    ) -> None:
        """`state`: lines whose answers the host has, from a gateway that it had before."""
        self._place = place
        self._argv = argv
        self._link: _socket.socket | None = link
        self._lock = _thread.allocate_lock()
        self._count = 0  # lines sent on this connection
        self._last = (0, b"")  # the newest that was sent; empty where the host has its answer
        self._unanswered: dict[int, bytes] = {}  # number -> request line of the host
        self._unsent: list[bytes] = []  # lines that the backend surely never got
        self._state = list(state)  # lines that a new backend must hear first
        self._muted: set[int] = set()  # numbers whose answers the host has already
        self._replayed: list[bytes] = []  # of the state, what the host has the answers to
        self._ended = False  # the host closed its end
        self._is_asked = False  # something of the host waits for a backend that is being looked for
        self._awaited = 0  # the number whose answer the next line is
        self._handover = None if state else _handover()  # with the first backend only
        self._splitter = LineSplitter()  # of the host
        self._queue: list[bytes] = []  # lines for this process, once there is no backend
        self._queued = _thread.allocate_lock()  # held while the queue is empty
        self._queued.acquire()

    def run(self, standalone: "Callable[[Iterator[bytes], int], None]") -> None:
        """Pump until the host is gone; without a backend `standalone` serves what is left.

        `standalone` gets the lines, and how many of the first the host has the answers to.
        """
        for line in self._state:
            if self._link is not None:
                self._pass(self._link, line, is_answered=True)
        self._begin()
        failures = 0
        while self._link is not None and not self.ended():
            began = time.monotonic()
            self._to_host(self._link)
            if self.ended():
                return
            failures = failures + 1 if time.monotonic() - began < _SHORT_LIFE else 1
            if not self._reconnect(may_attach=failures <= _RECONNECTS):
                if not self.ended():
                    standalone(self._lines(), sum(map(_is_request, self._replayed)))
                return

    def ended(self) -> bool:
        """True if the host is gone."""
        return self._ended

    # ---- host to backend

    def _begin(self) -> None:
        """Give the host's pipes away where that can be, else pump."""
        handover, link = self._handover, self._link
        if handover is not None and link is not None:
            try:
                handover.give(link)
            except OSError:
                self._handover = None
            else:
                _thread.start_new_thread(self._keep_up, (handover,))
                return
        _thread.start_new_thread(self._from_host, ())

    def _keep_up(self, handover: Handover) -> None:
        """Take in the log whenever it is full."""
        while handover.rung():
            with self._lock:
                if self._handover is handover:
                    self._catch_up(handover)
                    handover.empty()

    def _catch_up(self, handover: Handover) -> None:
        self._take_in(handover.requests())
        for number in handover.answered():
            self._unanswered.pop(number, None)

    def _take_in(self, data: bytes) -> None:
        """Note what the backend has read, as if it had been sent from here."""
        for line in self._splitter.feed(data):
            for message in messages_of(line):
                if any(method in message for method in _STATE_METHODS):
                    self._keep_state(message)
                self._count += 1
                if _is_request(message):
                    self._unanswered[self._count] = message

    def _from_host(self) -> None:
        while True:
            try:
                data = os.read(0, _CHUNK)
            except OSError:
                data = b""
            if not data:
                break
            for line in self._splitter.feed(data):
                for message in messages_of(line):  # so that each is known to be answered
                    self._send(message)
        self._ended = True
        with self._lock:
            if self._link is None:
                self._push(b"")
                return
            try:
                self._link.shutdown(_socket.SHUT_WR)
            except OSError:
                pass

    def _send(self, line: bytes) -> None:
        """One line on; what a later backend must know of it is kept first."""
        self._is_asked = True
        with self._lock:
            self._is_asked = False
            if self._link is None:
                self._push(line)
                return
            if any(method in line for method in _STATE_METHODS):  # which costs little
                self._keep_state(line)
            self._pass(self._link, line)

    def _pass(self, link: "_socket.socket", line: bytes, is_answered: bool = False) -> None:
        """One line to the backend; `is_answered`: the host must not get its answer again."""
        self._count += 1
        if is_answered:
            self._muted.add(self._count)
        elif _is_request(line):
            self._unanswered[self._count] = line
        try:
            link.sendall(line)
        except OSError:  # the other pump sees that the backend is gone
            self._unanswered.pop(self._count, None)
            if not is_answered:
                self._unsent.append(line)
            return
        self._last = (self._count, b"" if is_answered else line)

    def _keep_state(self, line: bytes) -> None:
        """Only where the method itself sets something up: a call must never be repeated."""
        method = method_of(line)
        if method in _STATE_METHODS:
            if b"subscribe" not in method:  # only the last of these counts
                self._state = [one for one in self._state if method_of(one) != method]
            self._state.append(line)

    # ---- backend to host

    def _to_host(self, link: "_socket.socket") -> None:
        """Lines of the backend to the host until the connection ends; half lines are dropped."""
        splitter = LineSplitter(_LONGEST_OF_BACKEND)
        self._awaited = 0
        while True:
            try:
                data = link.recv(_CHUNK)
            except ConnectionResetError:
                self._take_back()
                return
            except OSError:
                return
            if not data:
                return
            self._deliver(splitter.feed(data))

    def _take_back(self) -> None:
        """The last line is unsent: a reset means that bytes were unread, the tail of what was sent.

        What came before it may have been read, and run.
        """
        with self._lock:
            number, line = self._last
            self._unanswered.pop(number, None)
            if line:
                self._unsent.insert(0, line)
            self._last = (0, b"")

    def _deliver(self, lines: "Sequence[bytes]") -> None:
        out: list[bytes] = []
        for line in lines:
            if line in (HUNG_UP, REFUSED):
                self._on_control(line)
                continue
            if line.startswith(b"#"):
                if self._handover is not None:
                    with self._lock:
                        self._catch_up(self._handover)
                mark = line[1:-1]
                self._awaited = int(mark.removesuffix(ALONE))
                if not mark.endswith(ALONE):
                    continue
            elif self._awaited not in self._muted:
                out.append(line)
            self._unanswered.pop(self._awaited, None)
            self._muted.discard(self._awaited)
            self._awaited = 0
        if out:
            self._write(b"".join(out))
            if self._handover is not None:
                self._handover.pass_on(len(out))

    def _on_control(self, word: bytes) -> None:
        """Handle a word from a backend that reads of the host itself."""
        if word == HUNG_UP:
            self._ended = True
        elif self._handover is not None:
            self._handover = None
            self._begin()

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(1, left) :]
        except OSError:
            self._ended = True

    # ---- a backend that ended

    def _reconnect(self, *, may_attach: bool) -> bool:
        """Meet another backend and tell it what it must know; calls under way fail.

        Where there is none, or none may be met, the host's lines wait for this process.
        """
        with self._lock:
            old, self._link = self._link, None
            if old is not None:
                old.close()
            self._settle()
            pending, self._unanswered = list(self._unanswered.values()), {}
            lost = [line for line in pending if not _is_repeatable(line)]
            self._write(b"".join(map(_lost_answer, lost)))
            repeated = [line for line in pending if line not in lost] + self._unsent
            link = self._attach(bool(repeated)) if may_attach else None
            repeated = [line for line in repeated if line not in self._state]
            pending, self._unsent = pending + self._unsent, []
            if link is None:
                self._replayed = [line for line in self._state if line not in pending]
                waiting = [line for line in self._state if line in pending]
                for line in (*self._replayed, *waiting, *repeated):
                    self._push(line)
                return False
            self._count, self._muted = 0, set()
            for line in (*self._state, *repeated):
                self._pass(link, line, line in self._state and line not in pending)
            self._link = link
            return True

    def _attach(self, is_asked: bool) -> "_socket.socket | None":
        """Another backend; it may take its time to start as long as the host wants nothing."""

        def patience() -> float:
            if self._ended:
                return 0.0
            return START_SECONDS if is_asked or self._is_asked else FOREVER

        return attach(self._place, self._argv, patience=patience)

    def _settle(self) -> None:
        """Take in what the backend wrote to the host itself, and the line it was about to write."""
        handover, self._handover = self._handover, None
        if handover is not None:
            self._take_in(handover.last_requests())
            line, numbers = handover.settle()
            self._write(line)
            for number in numbers:
                self._unanswered.pop(number, None)
            self._begin()

    # ---- without a backend

    def _push(self, line: bytes) -> None:
        self._queue.append(line)
        if self._queued.locked():
            self._queued.release()

    def _lines(self) -> "Iterator[bytes]":
        """The host's lines for this process; ends when the host is gone."""
        while True:
            self._queued.acquire()
            while self._queue:
                line = self._queue.pop(0)
                if not line:
                    return
                yield line


def _handover() -> Handover | None:
    try:
        return Handover()
    except OSError:  # a sandbox, another system: everything goes through this process
        return None


def _is_request(line: bytes) -> bool:
    return b'"id"' in line and b'"method"' in line


def _is_repeatable(line: bytes) -> bool:
    method = method_of(line)
    return method in _REPEATABLE or method.endswith(b"/list")


def _lost_answer(line: bytes) -> bytes:
    """The error for a request whose backend ended; b"" where it cannot be answered."""
    import json

    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return b""
    error = {"code": -32603, "message": LOST}
    answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return json.dumps(answer).encode() + b"\n"
