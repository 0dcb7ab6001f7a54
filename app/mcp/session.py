"""One server behind the gateway: started at the first call, restarted after a crash."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from app.core.errors import ToolcribError
from app.mcp import jsonrpc, limits
from app.mcp.connection import Connection, NoAnswerError, greet
from app.mcp.protocol import MODERN
from app.mcp.requests import SIGN_IN, Channel, PendingRequest, ServerRequest, UpstreamEvents, fail
from app.system.threads import start_thread
from store.typed import Json

CONFIGURED, KNOWN, STARTING, STARTED, FAILED = (
    "configured",
    "known",
    "starting",
    "started",
    "failed",
)
_REST_GRACE = 5.0  # seconds that an idle server has to exit
CLOSING = "The gateway is closing"
LET_GO = "The server was changed or removed meanwhile"
BACK_OFF = (0.0, 1.0, 2.0, 5.0, 15.0, 60.0)  # seconds before the next start, by failures
_LONGEST_REASON = 1_000  # characters of what a server says when it refuses a greeting


class Upstream:
    """The life of one server; every method may be called from any thread."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], Channel],
        listener: UpstreamEvents,
        *,
        modern: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._launch = launch
        self._listener = listener
        self._modern = modern  # it is known to speak the stateless revision
        self._handshake_only = False  # it did not take server/discover
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._waiting: list[PendingRequest] = []
        self._failures = 0
        self._retry_at = 0.0
        self._closed = ""  # reason that it is not started again
        self.state = CONFIGURED
        self.problem = ""
        self.calls = 0  # tools/call so far

    is_shared = False  # whether other sessions use the same running server

    @property
    def started(self) -> bool:
        """True if requests go straight to the server."""
        return self.state == STARTED

    @property
    def modern(self) -> bool:
        """True if the running server speaks the stateless revision."""
        return self.version == MODERN

    @property
    def version(self) -> str:
        """The revision that the running server speaks, "" while none does."""
        connection = self._connection
        return connection.version if connection is not None else ""

    @property
    def hello_result(self) -> Json:
        """The running server's result of the greeting."""
        connection = self._connection
        return connection.hello_result if connection is not None else {}

    @property
    def list_changes(self) -> int:
        """Number of times that the running server announced another list of tools."""
        connection = self._connection
        return connection.list_changes if connection is not None else 0

    def request(self, request: PendingRequest) -> None:
        """Send a request, starting the server first if need be."""
        self.calls += request.message.get("method") == "tools/call"
        connection = self._connection
        if connection is not None and self.state == STARTED and connection.request(request):
            return
        with self._lock:
            problem = ""
            if self.state != STARTED:
                problem = self._wait_for_start(request)
                connection = None
            else:
                connection = self._connection
        if problem:
            request.failed(problem)
        elif connection is not None:
            connection.request(request)

    def _wait_for_start(self, request: PendingRequest) -> str:
        if self._closed:
            return not_called(self._closed, self.name)
        if self.state == FAILED and self._clock() < self._retry_at:
            seconds = max(1, round(self._retry_at - self._clock()))
            return f"{self.problem} It may be tried again in {seconds} s."
        if request.seconds:
            request.deadline = self._clock() + request.start_seconds + request.seconds
        self._waiting.append(request)
        if self.state != STARTING:
            self.state = STARTING
            start_thread(self._start)
        return ""

    def pids(self) -> tuple[int, ...]:
        """The processes of the running server, none for one behind a URL."""
        connection = self._connection
        return connection.channel.pids() if connection is not None else ()

    def start(self) -> None:
        """Start the server ahead of its first call."""
        with self._lock:
            idle = self.state in (CONFIGURED, KNOWN) and not self._closed
            if idle:
                self.state = STARTING
        if idle:
            start_thread(self._start)

    def notify(self, message: Json, line: bytes = b"") -> None:
        """Send a notification; dropped when the server is not running."""
        connection = self._connection
        if connection is not None and self.state in (STARTED, STARTING):
            connection.notify(message, line)

    def cancel(self, request: PendingRequest, params: Json) -> None:
        """Withdraw a request: the server is notified, a late answer is dropped."""
        with self._lock:
            if request in self._waiting:
                self._waiting.remove(request)
                return
            connection = self._connection
        if connection is not None:
            connection.cancel(request, params)

    def close(self, grace: float) -> None:
        """End the server; requests under way fail."""
        with self._lock:
            self._closed = CLOSING
            connection = self._connection
        if connection is not None:
            connection.channel.close(grace)

    def rest(self, seconds: float) -> None:
        """End a server that was idle for that many seconds; the next request starts it again."""
        with self._lock:
            connection = self._connection
            if seconds == math.inf or connection is None or self.state != STARTED:
                return
            if connection.rest(seconds, _REST_GRACE):
                self._connection, self.state = None, KNOWN

    def release(self) -> bool:
        """Let go of it once nothing is under way, for good; True when that is done."""
        self.rest(0.0)
        with self._lock:
            if self.state not in (STARTING, STARTED):
                self._closed = LET_GO
            return bool(self._closed)

    def stop(self) -> None:
        """End the server at the user's wish; calls under way fail."""
        connection = self._connection
        if connection is not None:
            connection.abandon("was stopped in Toolcrib")

    def check(self) -> None:
        """Once a second: fail what took too long, and notice a server that has exited.

        A child of it may keep its pipes open.
        """
        connection = self._connection
        now = self._clock()
        with self._lock:
            late = [request for request in self._waiting if request.deadline <= now]
            self._waiting = [request for request in self._waiting if request not in late]
        if connection is not None and self.state == STARTED:
            late += connection.overdue()
            if connection.channel.ended():
                connection.abandon("exited")
        for request in late:
            why = request.overdue or f"did not answer within {request.seconds:g} s"
            fail(request, f"{self.name} {why}.")

    # ---- start

    def _start(self) -> None:
        jsonrpc.speed_up()
        watch = limits.Watch(limits.SERVING_QUIET, limits.START_TOTAL, clock=self._clock)
        stateless = self._listener.stateless() and not self._handshake_only
        try:
            connection = greet(
                self._connect, watch, self._listener.hello, modern=self._modern, stateless=stateless
            )
            self._handshake_only = stateless and connection.version != MODERN
            self._flush(connection)
        except ToolcribError as error:
            self._start_failed(error.text)
        except (NoAnswerError, limits.HungError) as error:
            self._start_failed(str(error))
        except Exception:  # noqa: BLE001 - who waits must hear of it, whatever it was
            self._start_failed("It answered the greeting in a way that is not understood.")

    def _connect(self) -> Connection:
        connection = Connection(
            self._launch(),
            on_request=self._on_request,
            on_notification=self._on_notification,
            on_end=self._ended,
            envelope=self._listener.envelope,
            clock=self._clock,
        )
        connection.name = self.name
        with self._lock:
            if self._closed:
                raise ToolcribError("The gateway is closing.")
            self._connection = connection
        connection.open()
        return connection

    def _flush(self, connection: Connection) -> None:
        """Open the gate: what waited for the start goes out in order."""
        first = self._listener.opening_requests(self)
        with self._lock:
            self._waiting[:0] = first
        self._listener.ready(self)
        connection.worked = False
        while True:
            with self._lock:
                if connection.gone:
                    raise NoAnswerError("", f"It {connection.gone}.")
                if not self._waiting:
                    self.state = STARTED
                    self.problem = ""
                    return
                request = self._waiting.pop(0)
            if request.start_seconds:
                request.deadline = math.inf  # its seconds count from now
            connection.request(request)

    def _start_failed(self, reason: str) -> None:
        connection = self._connection
        channel = connection.channel if connection is not None else None
        if channel is not None:
            channel.close(0.0)
        with self._lock:
            self.problem = self._sentence("could not be started", reason, channel)
            self._fail()
            waiting, self._waiting = self._waiting, []
        # noted before anybody is answered: a host may leave as soon as it is
        self._note_down(channel)
        for request in waiting:
            fail(request, self.problem)

    def _fail(self) -> None:
        self.state = FAILED
        self._connection = None
        self._failures += 1
        self._retry_at = self._clock() + BACK_OFF[min(self._failures, len(BACK_OFF) - 1)]

    # ---- the connection's reader

    def _on_request(self, _connection: Connection, request: ServerRequest) -> None:
        self._listener.on_request(self, request)

    def _on_notification(self, _connection: Connection, line: bytes, message: Json) -> None:
        self._listener.on_notification(self, line, message)

    def _ended(self, connection: Connection, pending: list[PendingRequest]) -> None:
        reason = f"It {connection.gone}."
        with self._lock:
            current, starting = connection is self._connection, self.state == STARTING
            if current and not starting:
                self.problem = self._sentence("stopped while it worked", reason, connection.channel)
                if connection.worked:
                    self._failures, self._connection, self.state = 0, None, KNOWN
                else:
                    self._fail()
                reason = self.problem
            unexpected = current and not starting and not self._closed
        if unexpected:
            self._note_down(connection.channel)
        for request in pending:
            fail(request, reason)

    def _note_down(self, channel: Channel | None) -> None:
        with suppress(Exception):  # those who wait for an answer come first
            printed = channel.printed() if channel is not None else ""
            self._listener.down(self, self.problem, printed)

    def _sentence(self, what: str, reason: str, channel: Channel | None) -> str:
        detail = channel.last_sentence() if channel is not None else ""
        if detail.startswith(SIGN_IN):
            return detail
        if channel is not None:  # a refused greeting is quoted
            reason = channel.redacted(reason[:_LONGEST_REASON])
        return " ".join(filter(None, [f"{self.name} {what}.", reason, detail]))


def not_called(why: str, name: str) -> str:
    """The answer to a call that came too late for its server."""
    return f"{why}; {name} was not called. Ask again."


def close_all(upstreams: Sequence[Upstream], grace: float) -> None:
    """End all servers at the same time."""
    threads = [start_thread(upstream.close, grace) for upstream in upstreams]
    for thread in threads:
        thread.join(grace + 3.0)
