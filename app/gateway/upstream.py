"""One server behind the gateway: started at the first call, restarted after a crash."""

import threading
import time
from collections.abc import Callable, Sequence

from app.errors import ToolcribError
from app.gateway import eras, wire
from app.gateway.exchange import SIGN_IN, Asked, Channel, Exchange, Listener
from app.gateway.protocol import (
    MODERN,
    UNSUPPORTED_VERSION,
    Json,
    is_modern,
)
from store.typed import Any

CONFIGURED, KNOWN, STARTING, STARTED, FAILED = (
    "configured",
    "known",
    "starting",
    "started",
    "failed",
)
IDLE_SECONDS = 12.0  # without CPU time, output or an answer, a starting server has hung
PROBE_SECONDS = 5.0  # the same for a server that may not know server/discover
START_SECONDS = 180.0  # whatever it does
BACK_OFF = (0.0, 1.0, 2.0, 5.0, 15.0, 60.0)  # seconds before the next start, by failures
_POLL_SECONDS = 0.5


class Upstream:
    """The life of one server; every method may be called from any thread."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], Channel],
        listener: Listener,
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
        self._channel: Channel | None = None
        self._pending: dict[int, Exchange] = {}
        self._waiting: list[Exchange] = []
        self._count = 0
        self._failures = 0
        self._retry_at = 0.0
        self._greeted = threading.Event()
        self._closed = False
        self._worked = False  # has answered something since its start
        self._gone = ""  # why the server went while it was being started
        self.state = CONFIGURED
        self.problem = ""
        self.version = ""
        self.hello_result: Json = {}

    @property
    def started(self) -> bool:
        """Whether requests go straight to the server."""
        return self.state == STARTED

    @property
    def modern(self) -> bool:
        """Whether the running server speaks the stateless revision."""
        return self.version == MODERN

    def request(self, exchange: Exchange) -> None:
        """Send a request, starting the server first if need be."""
        with self._lock:
            if self.state != STARTED:
                problem = self._wait_for_start(exchange)
            else:
                problem = ""
                channel, line = self._enlist(exchange)
        if problem:
            exchange.failed(problem)
        elif exchange.sent_id:
            channel.send(line)

    def _wait_for_start(self, exchange: Exchange) -> str:
        if self._closed:
            return f"The gateway is closing; {self.name} was not called."
        if self.state == FAILED and self._clock() < self._retry_at:
            seconds = max(1, round(self._retry_at - self._clock()))
            return f"{self.problem} It may be tried again in {seconds} s."
        self._waiting.append(exchange)
        if self.state != STARTING:
            self.state = STARTING
            threading.Thread(target=self._start, daemon=True).start()
        return ""

    def _enlist(self, exchange: Exchange) -> tuple[Channel, bytes]:
        self._count += 1
        exchange.sent_id = self._count
        self._pending[self._count] = exchange
        if self._channel is None:
            raise RuntimeError("a started server has a channel")
        line, message = exchange.line, exchange.message
        own = is_modern(message.get("params"))
        if self.version == MODERN and not own:
            line, message = b"", self._enveloped(message)
        elif self.version != MODERN and own:
            line, message = b"", eras.without_envelope(message)
        return self._channel, wire.with_id(line, message, self._count)

    def start(self) -> None:
        """Start the server ahead of its first call."""
        with self._lock:
            idle = self.state in (CONFIGURED, KNOWN) and not self._closed
            if idle:
                self.state = STARTING
        if idle:
            threading.Thread(target=self._start, daemon=True).start()

    def notify(self, message: Json, line: bytes = b"") -> None:
        """Send a notification or an answer; dropped when the server is not running."""
        channel = self._channel
        if channel is not None and self.state in (STARTED, STARTING):
            channel.send(line or wire.dump(message))

    def cancel(self, exchange: Exchange, params: Json) -> None:
        """Withdraw a request: a late answer is dropped, the server is told."""
        with self._lock:
            if exchange in self._waiting:
                self._waiting.remove(exchange)
                return
            if self._pending.pop(exchange.sent_id, None) is None:
                return
        told = {**params, "requestId": exchange.sent_id}
        self.notify(wire.notification("notifications/cancelled", told))

    def close(self, grace: float) -> None:
        """End the server; requests under way fail."""
        with self._lock:
            self._closed = True
            channel = self._channel
        if channel is not None:
            channel.close(grace)

    def check(self) -> None:
        """Notice a server that exited while a child of it keeps its pipes open."""
        channel = self._channel
        if channel is not None and self.state == STARTED and channel.ended():
            self._ended(channel, "exited")

    # ---- start

    def _start(self) -> None:
        self._greeted.clear()
        wire.speed_up()
        channel: Channel | None = None
        discovered = False
        try:
            channel = self._connect()
            if self._modern or (self._listener.stateless() and not self._handshake_only):
                discovered = self._discover(channel)
                if not discovered and (self._gone or channel.ended()):
                    channel.close(0.0)  # old servers end at methods they do not know
                    channel = self._connect()
            if not discovered:
                self._initialize(channel)
            self._flush()
        except ToolcribError as error:
            channel = self._channel or channel
            if channel is not None:
                channel.close(0.0)
            self._start_failed(channel, f"{error.title} {error.hint}".strip())

    def _connect(self) -> Channel:
        channel = self._launch()
        with self._lock:
            if self._closed:
                raise ToolcribError("The gateway is closing.")
            self._channel = channel
            self._pending.clear()
        self._gone = self.version = ""
        channel.open(self._on_line, lambda reason: self._ended(channel, reason))
        return channel

    def _initialize(self, channel: Channel) -> None:
        """The handshake of the earlier revisions; raises ToolcribError."""
        answer = self._ask(channel, "initialize", self._listener.hello())
        result = answer.get("result")
        if isinstance(result, dict):
            self._adopt(result, str(result.get("protocolVersion", "")))
            channel.send(wire.dump(wire.notification("notifications/initialized")))
            return
        error = answer.get("error", {})
        if error.get("code") != UNSUPPORTED_VERSION:
            text = error.get("message", "no reason given")
            raise ToolcribError(f"It refused to initialize: {text}.")
        if not self._discover(channel):
            raise ToolcribError("It speaks no protocol version that Toolcrib knows.")

    def _discover(self, channel: Channel) -> bool:
        """Whether the server speaks the stateless revision; a server that dies of it does not."""
        self.version = MODERN
        try:
            idle = IDLE_SECONDS if self._modern else PROBE_SECONDS
            answer = self._ask(channel, "server/discover", {}, idle=idle)
        except ToolcribError:
            if self._modern:
                raise
            answer = {}
            self._gone = self._gone or "It did not answer."
        if "result" in answer:
            self._adopt(answer["result"], MODERN)
            return True
        self._handshake_only = not self._modern
        self.version = ""
        return False

    def _adopt(self, result: Any, version: str) -> None:
        self.hello_result = result if isinstance(result, dict) else {}
        self.version = version

    def _ask(
        self, channel: Channel, method: str, params: Json, *, idle: float = IDLE_SECONDS
    ) -> Json:
        """One request during the start, watched for progress; raises ToolcribError."""
        answers: list[Json] = []
        problems: list[str] = []
        done = threading.Event()

        def answered(answer: Json) -> None:
            answers.append(answer)
            done.set()

        def failed(reason: str) -> None:
            problems.append(reason)
            done.set()

        message: Json = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
        exchange = Asked(message, answered=answered, failed=failed)
        with self._lock:
            channel_now, line = self._enlist(exchange)
        channel_now.send(line)
        self._watch(channel, done, idle)
        if not answers:
            raise ToolcribError(problems[0] if problems else "It did not answer.")
        return answers[0]

    def _watch(self, channel: Channel, done: threading.Event, idle: float) -> None:
        began = moved = self._clock()
        seen = -1.0
        while not done.wait(_POLL_SECONDS):
            now, progress = self._clock(), channel.progress()
            if progress > seen + 0.005:
                seen, moved = progress, now
            if now - moved > idle or now - began > START_SECONDS:
                raise ToolcribError(f"It did not answer within {now - began:.0f} s.")

    def _flush(self) -> None:
        """Open the gate: what waited for the start goes out in order."""
        first = self._listener.first_words(self)
        with self._lock:
            self._waiting[:0] = first
        self._listener.ready(self)
        while True:
            with self._lock:
                if self._gone:
                    raise ToolcribError(self._gone)
                self._worked = False
                if not self._waiting:
                    self.state = STARTED
                    self.problem = ""
                    return
                exchange = self._waiting.pop(0)
                channel, line = self._enlist(exchange)
            channel.send(line)

    def _start_failed(self, channel: Channel | None, reason: str) -> None:
        with self._lock:
            self.state = FAILED
            self._channel = None
            self.version = ""
            self._failures += 1
            self._retry_at = self._clock() + _pause(self._failures)
            self.problem = self._sentence("could not be started", reason, channel)
            waiting, self._waiting = self._waiting, []
            self._pending.clear()
        # noted before anybody is answered: a host may leave as soon as it is
        self._listener.down(self, self.problem, channel.printed() if channel is not None else "")
        for exchange in waiting:
            exchange.failed(self.problem)

    # ---- the reader thread

    def _on_line(self, line: bytes) -> bool:
        try:
            messages, clean = wire.parse(line)
        except wire.NotJsonError:
            return False
        known = False
        for message in messages:
            known = self._dispatch(line if clean else b"", message) or known
        return known

    def _dispatch(self, line: bytes, message: Json) -> bool:
        """Hand a message on; whether it is one."""
        if "method" in message:
            self._listener.heard(self, line, message)
            return True
        number = message.get("id")
        if isinstance(number, str) and number.isdigit():
            number = int(number)  # some servers answer with a text
        exchange = self._pending.pop(number, None) if type(number) is int else None
        if exchange is not None:
            self._worked = True
            exchange.answered(line, message)
        return "id" in message or "jsonrpc" in message

    def _ended(self, channel: Channel, reason: str) -> None:
        with self._lock:
            if channel is not self._channel:
                return
            starting = self.state == STARTING
            pending, self._pending = list(self._pending.values()), {}
            if starting:
                self._gone = f"It {reason}."
            else:
                self._channel = None
                self.version = ""
                self.state = KNOWN
                if not self._worked:
                    self._failures += 1
                    self.state = FAILED
                    self._retry_at = self._clock() + _pause(self._failures)
                else:
                    self._failures = 0
            self.problem = self._sentence("stopped while it worked", f"It {reason}.", channel)
            closed = self._closed
        if not starting and not closed:
            self._listener.down(self, self.problem, channel.printed())
        for exchange in pending:
            exchange.failed(f"It {reason}." if starting else self.problem)

    def _sentence(self, what: str, reason: str, channel: Channel | None) -> str:
        said = channel.said() if channel is not None else ""
        if said.startswith(SIGN_IN):
            return said
        return " ".join(filter(None, [f"{self.name} {what}.", reason, said]))

    def _enveloped(self, message: Json) -> Json:
        """The request in the form of the stateless revision."""
        params = dict(message.get("params") or {})
        params["_meta"] = {**(params.get("_meta") or {}), **self._listener.envelope()}
        return {**message, "params": params}


def _pause(failures: int) -> float:
    return BACK_OFF[min(failures, len(BACK_OFF) - 1)]


def close_all(upstreams: Sequence[Upstream], grace: float) -> None:
    """End all servers at the same time."""
    threads = [threading.Thread(target=u.close, args=(grace,), daemon=True) for u in upstreams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(grace + 3.0)
