"""One request on its way to a server, and what a session needs of both its sides."""

import math
from collections.abc import Callable
from contextlib import suppress

from app.mcp import jsonrpc
from app.mcp.protocol import progress_token
from store.typed import Any, Json, Protocol

SIGN_IN = "Sign in to "  # how a channel's last word begins when only that helps


class PendingRequest:
    """One request on its way to a server: answered or failed exactly once, or cancelled."""

    __slots__ = (
        "deadline", "line", "message", "overdue", "progress", "seconds", "sent_id", "start_seconds",
    )  # fmt: skip

    def __init__(self, line: bytes, message: Json, seconds: float = 0.0) -> None:
        self.line = line  # b"" when the message must be written anew
        self.message = message
        self.progress = progress_token(message)
        self.sent_id = 0
        self.seconds = seconds  # that the answer may take, 0 for as long as the server lives
        self.start_seconds = 0.0  # that a start may take before them
        self.deadline = math.inf  # on the session's clock, from when it is sent
        self.overdue = ""  # why its time is up, "" when only its seconds are

    def answered(self, line: bytes, answer: Json) -> None:
        """The server has answered; `line` is b"" when its bytes may not be forwarded."""
        raise NotImplementedError

    def failed(self, reason: str) -> None:
        """The server could not be reached, or has gone."""
        raise NotImplementedError

    def progressed(self, line: bytes, message: Json) -> None:
        """The server reports progress on it."""


class ServerRequest:
    """A request of a server's own: answered once, unless the server withdraws it or goes."""

    __slots__ = ("_answered", "line", "message", "withdrawn")

    def __init__(
        self,
        line: bytes,
        message: Json,
        answered: "Callable[[ServerRequest, bytes, Json], None]",
    ) -> None:
        """`answered` takes the answer and its line, b"" for none, to the server."""
        self.line = line
        self.message = message
        self._answered = answered
        self.withdrawn: Callable[[str], None] = lambda _reason: None  # set by who answers it

    @property
    def method(self) -> str:
        """The method that is asked for."""
        return str(self.message["method"])

    def answer(self, answer: Json, line: bytes = b"") -> None:
        """Answer the server; the id of this answer does not matter."""
        self._answered(self, line, answer)

    def refuse(self, code: int, text: str) -> None:
        """Answer with an error."""
        self.answer(jsonrpc.error(self.message["id"], code, text))


def fail(request: PendingRequest, reason: str) -> None:
    """Fail one request; an error in its callback does not keep the others from failing too."""
    with suppress(Exception):
        request.failed(reason)


class OwnRequest(PendingRequest):
    """A request of our own; its answer, or why there is none, goes to functions."""

    __slots__ = ("_answered", "_failed")

    def __init__(
        self,
        message: Json,
        *,
        answered: Callable[[Json], None] = lambda _answer: None,
        failed: Callable[[str], None] = lambda _reason: None,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(b"", message, seconds)
        self._answered = answered
        self._failed = failed

    def answered(self, _line: bytes, answer: Json) -> None:
        """Hand the answer on."""
        self._answered(answer)

    def failed(self, reason: str) -> None:
        """Hand the reason on."""
        self._failed(reason)


class Channel(Protocol):
    """Transport of a connection's lines: a process or an HTTP session."""

    fault: bool  # whether it was ended for what it sent
    junk_lines: int  # lines that were no messages

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Connect; `on_line` returns True for a message; `on_end` is called once."""

    def send(self, line: bytes) -> None:
        """Send one message; never blocks for long."""

    def progress(self) -> float:
        """A number that grows while the server works (CPU seconds, bytes read)."""

    def ended(self) -> bool:
        """True if the server has exited."""

    def last_line(self) -> str:
        """Last line of the server's output, or of HTTP, without secrets; "" for none."""

    def last_sentence(self) -> str:
        """The last line as a sentence."""

    def printed(self) -> str:
        """The last of what the server printed on stderr, without secrets."""

    def redacted(self, text: str) -> str:
        """A text of the server without secrets."""

    def pids(self) -> tuple[int, ...]:
        """The server's processes, none for one behind a URL."""

    def close(self, grace: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """End the server with everything it started; fast once `hurry` returns True."""


class UpstreamEvents(Protocol):
    """Receiver of a server's own requests and notifications."""

    def hello(self) -> Json:
        """The params of initialize, as the host sent them."""

    def stateless(self) -> bool:
        """True if the host speaks the stateless revision, so that a server had better too."""

    def envelope(self) -> Json:
        """The reserved keys of _meta for a stateless server."""

    def opening_requests(self, upstream: Any) -> list[PendingRequest]:
        """Requests to send to a server that was just started, before any call."""

    def ready(self, upstream: Any) -> None:
        """The server is about to take its first call."""

    def on_request(self, upstream: Any, request: ServerRequest) -> None:
        """The server asks for something; a ping was answered."""

    def on_notification(self, upstream: Any, line: bytes, message: Json) -> None:
        """The server sent a notification, other than on a request under way."""

    def down(self, upstream: Any, reason: str, printed: str) -> None:
        """The server has gone or could not be started; `printed` is the last of its stderr."""
