"""A connection to a running server: requests, their answers, both ways of greeting."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import NoneType

from app.mcp import jsonrpc, limits, revisions
from app.mcp.patience import Patience, lasts
from app.mcp.protocol import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MODERN,
    PARSE_ERROR,
    PROGRESS,
    is_modern,
    params_of,
)
from app.mcp.requests import Channel, OwnRequest, PendingRequest, ServerRequest
from app.system.threads import start_thread
from store.typed import Any, Json, object_or_empty

RESTED = "was idle"
_LIST_CHANGED = "notifications/tools/list_changed"
_LONGEST_REASON = 300  # characters
_LONGEST_NUMBER = 18  # digits


class NoAnswerError(Exception):
    """A request that was not answered, a sentence; `method` is what was asked."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(reason)
        self.method = method


class RefusedError(NoAnswerError):
    """The server answered with an error; `code` is its code."""

    def __init__(self, method: str, error: object) -> None:
        body = error if isinstance(error, dict) else {"message": error}
        text = str(body.get("message") or "no reason given").strip().partition("\n")[0]
        super().__init__(method, f"It refused to answer {method}: {text[:_LONGEST_REASON]}")
        self.code = body.get("code", 0)


class Connection:
    """One running server; every method may be called from any thread.

    The one place where ids are given and requests of both sides wait for their answers.
    `on_request` gets the server's own requests, `on_notification` what belongs to no request,
    `on_end` what was pending when it went, `envelope` makes the reserved keys of _meta for a
    stateless server.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        on_request: Callable[["Connection", ServerRequest], None],
        on_notification: Callable[["Connection", bytes, Json], None] = lambda *_message: None,
        on_end: Callable[["Connection", list[PendingRequest]], None],
        envelope: Callable[[], Json],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.channel = channel
        self.name = ""  # the server's, for messages about it
        self.version = ""  # the protocol revision that was agreed on
        self.hello_result: Json = {}
        self.gone = ""  # how it ended
        self.worked = False  # has answered something
        self.list_changes = 0  # how often it announced another list of tools
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_end = on_end
        self._envelope = envelope
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[int, PendingRequest] = {}
        self._server_requests: dict[tuple[type, object], ServerRequest] = {}
        self._count = 0
        self._patience = Patience(clock, channel.progress, lambda: bool(self._server_requests))
        self._used_at = clock()
        self._has_tasks = False  # a result names work that goes on

    def open(self) -> None:
        """Start or reach the server; raises ToolcribError."""
        self.channel.open(self._read, self.end)

    def request(self, request: PendingRequest) -> bool:
        """Send a request; fails it at once where the server has gone.

        False, and nothing done, for a server that was ended because it was idle.
        """
        with self._lock:
            gone = self.gone
            if not gone:
                self._used_at = self._clock()
                self._count += 1
                number = request.sent_id = self._count
                self._pending[number] = request
                self._patience.begin(request)
        if gone == RESTED:
            return False
        if gone:
            before = f"{self.name} stopped before it was asked. " if self.name else ""
            request.failed(f"{before}It {gone}.")
            return True
        line, message = request.line, request.message
        own = is_modern(message.get("params"))
        if self.version == MODERN and not own:
            line, message = b"", self._enveloped(message)
        elif self.version != MODERN and own:
            line, message = b"", revisions.without_envelope(message)
        self.channel.send(jsonrpc.with_id(line, message, number))
        return True

    def rest(self, seconds: float, grace: float) -> bool:
        """End the server if no request has used it for that many seconds; True if it ended.

        Never while a request waits (but the stream of a stateless server's news), nor after a
        result that named a task.
        """
        with self._lock:
            waiting = [r for r in self._pending.values() if not lasts(r)]
            if waiting or self._has_tasks or self._clock() - self._used_at < seconds:
                return False
            self._pending, self.gone = {}, RESTED
            questions, self._server_requests = self._server_requests, {}
        _withdraw(questions.values())
        start_thread(self.channel.close, grace)
        return True

    def notify(self, message: Json, line: bytes = b"") -> None:
        """Send a notification."""
        self.channel.send(line or jsonrpc.dump(message))

    def cancel(self, request: PendingRequest, params: Json) -> bool:
        """Withdraw a request: the server is notified, a late answer dropped; True if it waited."""
        if self._pending.pop(request.sent_id, None) is None:
            return False
        sent = {**params, "requestId": request.sent_id}
        self.notify(jsonrpc.notification(CANCELLED, sent))
        return True

    def overdue(self) -> list[PendingRequest]:
        """Withdraw every request whose time is up, or whose server fell silent."""
        with self._lock:
            pending = list(self._pending.values())
        cause = {"reason": "It took too long."}
        return [one for one in self._patience.overdue(pending) if self.cancel(one, cause)]

    def call(
        self, method: str, params: Json, watch: limits.Watch, *, quiet: float = limits.START_TOTAL
    ) -> Json:
        """The result of a request of our own; raises NoAnswerError, HungError, StoppedError."""
        answers: list[Json] = []
        reasons: list[str] = []
        done = threading.Event()

        def answered(answer: Json) -> None:
            answers.append(answer)
            done.set()

        def failed(reason: str) -> None:
            reasons.append(reason)
            done.set()

        request = OwnRequest(jsonrpc.request(method, params), answered=answered, failed=failed)
        watch.progress, watch.waiting_for = self.channel.progress, f"to answer {method}"
        self.request(request)
        watch.wait(done.wait, quiet)
        if not answers:
            raise NoAnswerError(method, reasons[0])
        if "error" in answers[0]:
            raise RefusedError(method, answers[0]["error"])
        return object_or_empty(answers[0].get("result"))

    # ---- the greeting

    def initialize(self, hello: Json, watch: limits.Watch) -> None:
        """The handshake of the earlier revisions; raises what `call` raises."""
        result = self.call("initialize", hello, watch)
        self._adopt(result, str(result.get("protocolVersion") or hello.get("protocolVersion", "")))
        self.notify(jsonrpc.notification("notifications/initialized"))

    def discover(self, watch: limits.Watch, quiet: float) -> None:
        """The greeting of the stateless revision; raises what `call` raises."""
        self.version = MODERN
        try:
            result = self.call("server/discover", {}, watch, quiet=quiet)
            versions = result.get("supportedVersions")
            if not isinstance(versions, list) or MODERN not in versions:
                raise RefusedError("server/discover", "it speaks no protocol version of ours")
        except BaseException:
            self.version = ""
            raise
        self._adopt(result, MODERN)

    def _adopt(self, result: Json, version: str) -> None:
        self.hello_result, self.version = result, version

    def _enveloped(self, message: Json) -> Json:
        """The request in the form of the stateless revision."""
        params = dict(message.get("params") or {})
        params["_meta"] = {**(params.get("_meta") or {}), **self._envelope()}
        return {**message, "params": params}

    # ---- the channel's reader

    def _read(self, line: bytes) -> bool:
        """Read one line; True if it was a message. Never raises: no other reader is there."""
        self._patience.restart()
        try:
            messages, clean = jsonrpc.parse(line)
        except limits.TooLargeError as error:
            if not self._unreadable(line, f"sent {error}"):
                self.channel.fault = True
                self.abandon(f"sent {error}")  # whose answer it was cannot be known
            return True
        except limits.NotJsonError:
            return self._unreadable(line, "sent an answer that is no JSON")
        is_message = False
        for message in messages:
            is_message = self._dispatch(line if clean else b"", message) or is_message
        return is_message

    def _unreadable(self, line: bytes, reason: str) -> bool:
        """Fail the request that an unreadable answer is for; True if there is one."""
        request = self._pending.pop(jsonrpc.number_of(line), None)
        if request is not None:
            request.failed(f"It {reason}.")
        return request is not None

    def _dispatch(self, line: bytes, message: Json) -> bool:
        if "method" in message:
            self._receive(line, message)
            return True
        number = message.get("id")
        if number is None and _not_understood(message.get("error")):
            number = False
        request = self._waiting_for(number)
        if request is not None:
            self.worked = True
            self._used_at = self._clock()
            mended = _repaired(message)
            result = mended.get("result")
            if isinstance(result, dict) and "task" in result:
                self._has_tasks = True
            try:
                request.answered(line if mended is message else b"", mended)
            except Exception:  # noqa: BLE001 - an odd answer must not end the only reader
                request.failed("It sent an answer that cannot be used.")
        return "id" in message or "jsonrpc" in message

    def _receive(self, line: bytes, message: Json) -> None:
        """A request or notification of the server's own."""
        number, method = message.get("id"), message["method"]
        with suppress(Exception):  # an odd message must not end the only reader
            if type(number) not in (NoneType, int, str, float) or not isinstance(method, str):
                self.notify(jsonrpc.error(None, INVALID_REQUEST, "Invalid request"))
            elif "id" in message:
                self._requested(line, message)
            elif method == PROGRESS:
                self._progressed(line, message)
            elif method == CANCELLED:
                self._withdrawn(params_of(message))
            else:
                self.list_changes += method == _LIST_CHANGED
                self._on_notification(self, line, message)

    def _requested(self, line: bytes, message: Json) -> None:
        server_id = message["id"]
        if message["method"] == "ping":
            self.notify(jsonrpc.result(server_id, {}))
        elif len(self._server_requests) >= limits.EXTRAS:
            text = "Too many requests of this server wait for their answers."
            self.notify(jsonrpc.error(server_id, INTERNAL_ERROR, text))
        else:
            request = ServerRequest(line, message, self._answer)
            with self._lock:
                if self.gone:  # there is no way for an answer
                    return
                self._server_requests[type(server_id), server_id] = request
            try:
                self._on_request(self, request)
            except Exception:  # noqa: BLE001 - who asked hears it, unless it was answered
                request.refuse(INTERNAL_ERROR, "The request could not be understood.")

    def _answer(self, request: ServerRequest, line: bytes, answer: Json) -> None:
        """Send the answer to a request of the server, which may have withdrawn it."""
        server_id = request.message["id"]
        key = type(server_id), server_id
        with self._lock:
            if self._server_requests.get(key) is not request:
                return
            del self._server_requests[key]
        self._patience.restart()  # the time counts from here
        self.channel.send(jsonrpc.with_id(line, answer, server_id))

    def _withdrawn(self, params: Json) -> None:
        server_id = params.get("requestId")
        request = None
        if isinstance(server_id, str | int | float):
            request = self._server_requests.pop((type(server_id), server_id), None)
        if request is not None:
            request.withdrawn(str(params.get("reason", "")))

    def _progressed(self, line: bytes, message: Json) -> None:
        """Hand progress to the request that it is on, if that is under way."""
        token = params_of(message).get("progressToken")
        if isinstance(token, str | int):
            for request in tuple(self._pending.values()):
                if request.progress == token and type(request.progress) is type(token):
                    request.progressed(line, message)
                    return

    def _waiting_for(self, number: Any) -> PendingRequest | None:
        """The request that an answer is for."""
        if type(number) is not int:
            number = _as_int(number)
        request = self._pending.pop(number, None)
        if request is None and not 0 <= number <= self._count:
            with self._lock:
                self._patience.doubt(self._pending.values())
        return request

    def abandon(self, reason: str) -> None:
        """End a server that is of no use any more, with everything it started."""
        self.end(reason)
        start_thread(self.channel.close, 0.0)

    def end(self, reason: str) -> None:
        """The server has gone; only the first reason counts."""
        with self._lock:
            if self.gone:
                return
            self.gone = reason
            pending, self._pending = list(self._pending.values()), {}
            questions, self._server_requests = self._server_requests, {}
        _withdraw(questions.values())
        self._on_end(self, pending)


def _withdraw(requests: Iterable[ServerRequest]) -> None:
    """Tell who is to answer these requests that the server has gone."""
    for request in requests:
        with suppress(Exception):  # the others must be withdrawn too
            request.withdrawn("The server that asked has stopped.")


def _as_int(number: object) -> int:
    """The number that a server turned into a text or a fraction; 0 for none, -1 for no id."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, str) and number.isascii() and number.isdigit():
        return int(number) if len(number) <= _LONGEST_NUMBER else -1
    return 0 if number is None else -1


def _not_understood(error: object) -> bool:
    """True if a server says that it could not read some request, without saying which."""
    return isinstance(error, dict) and error.get("code") in (PARSE_ERROR, INVALID_REQUEST)


def _repaired(answer: Json) -> Json:
    """The answer in the form that every host understands; itself where it has it."""
    error = answer.get("error")
    if error is None and "result" in answer and answer.get("jsonrpc") == "2.0":
        return answer
    if error is None and "result" in answer:
        return {**answer, "jsonrpc": "2.0"}
    body = object_or_empty(error)
    if type(body.get("code")) is int and isinstance(body.get("message"), str):
        return answer if answer.get("jsonrpc") == "2.0" else {**answer, "jsonrpc": "2.0"}
    text = str(body.get("message") or error or "It sent neither a result nor an error.")
    return jsonrpc.error(answer.get("id"), INTERNAL_ERROR, text, body.get("data"))


def greet(
    connect: Callable[[], Connection],
    watch: limits.Watch,
    hello: Callable[[], Json],
    *,
    modern: bool,
    stateless: bool = False,
) -> Connection:
    """A greeted connection. Raises ToolcribError and what `Connection.call` raises.

    initialize comes first, since every server answers it while some die of methods that they do not
    know; server/discover does where the server is known to be `modern` or the host is `stateless`.
    A server that refuses one way is asked the other, and is started again if it died of the first.
    """
    connection = connect()
    modern_first = modern or stateless
    quiet = limits.START_TOTAL if modern else limits.PROBE_QUIET
    try:
        _greet(connection, watch, hello, modern=modern_first, quiet=quiet)
        return connection
    except NoAnswerError as error:
        refusal: Exception = error
        if connection.gone and not _silent(connection, modern_first):
            raise
    except limits.HungError as error:
        refusal = error
        if modern or not modern_first:
            raise
    if connection.gone or connection.channel.ended():
        connection.channel.close(0.0)
        connection = connect()
    try:
        _greet(connection, watch, hello, modern=not modern_first, quiet=limits.START_TOTAL)
    except NoAnswerError:
        raise refusal from None
    return connection


def _greet(
    connection: Connection,
    watch: limits.Watch,
    hello: Callable[[], Json],
    *,
    modern: bool,
    quiet: float,
) -> None:
    if modern:
        connection.discover(watch, quiet)
    else:
        connection.initialize(hello(), watch)


def _silent(connection: Connection, modern_first: bool) -> bool:
    """True if a server may have died of the greeting itself: it gave no other reason."""
    channel = connection.channel
    return not channel.fault and (modern_first or not channel.last_line())
