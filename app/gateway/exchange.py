"""One request on its way to a server, and what an upstream needs of both its sides."""

from collections.abc import Callable

from app.gateway.protocol import Json
from store.typed import Any, Protocol

SIGN_IN = "Sign in to "  # how a channel's last word begins when only that helps


class Exchange:
    """One request on its way to a server: answered or failed exactly once, or cancelled."""

    __slots__ = ("line", "message", "progress", "sent_id")

    def __init__(self, line: bytes, message: Json) -> None:
        self.line = line  # b"" when the message must be written anew
        self.message = message
        self.progress = _progress_token(message)
        self.sent_id = 0

    def answered(self, line: bytes, answer: Json) -> None:
        """The server has answered; `line` is b"" when its bytes may not be forwarded."""
        raise NotImplementedError

    def failed(self, reason: str) -> None:
        """The server could not be reached, or has gone."""
        raise NotImplementedError


class Asked(Exchange):
    """A request of the gateway's own; what becomes of it is told to functions."""

    __slots__ = ("_answered", "_failed")

    def __init__(
        self,
        message: Json,
        *,
        answered: Callable[[Json], None] = lambda _answer: None,
        failed: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        super().__init__(b"", message)
        self._answered = answered
        self._failed = failed

    def answered(self, _line: bytes, answer: Json) -> None:
        """Tell it."""
        self._answered(answer)

    def failed(self, reason: str) -> None:
        """Tell it."""
        self._failed(reason)


def _progress_token(message: Json) -> object:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken") if isinstance(meta, dict) else None


class Channel(Protocol):
    """What the upstream needs of a connection, a process or an HTTP session."""

    def open(self, on_line: Callable[[bytes], bool], on_end: Callable[[str], None]) -> None:
        """Connect; `on_line` says whether a line was a message; `on_end` is called once."""

    def send(self, line: bytes) -> None:
        """Send one message; never blocks for long."""

    def progress(self) -> float:
        """A number that grows while the server works (CPU seconds, bytes read)."""

    def ended(self) -> bool:
        """Whether the server has exited."""

    def said(self) -> str:
        """What the server printed last, a sentence without secrets, "" when nothing."""

    def printed(self) -> str:
        """The last of what the server printed on stderr, without secrets."""

    def close(self, grace: float) -> None:
        """End the server with everything it started."""


class Listener(Protocol):
    """Who hears what a server says of its own accord."""

    def hello(self) -> Json:
        """The params of initialize, as the host sent them."""

    def stateless(self) -> bool:
        """Whether the host speaks the stateless revision, so that a server had better too."""

    def envelope(self) -> Json:
        """The reserved keys of _meta for a stateless server."""

    def first_words(self, upstream: Any) -> list[Exchange]:
        """What a server that was just started must hear before any call."""

    def ready(self, upstream: Any) -> None:
        """The server is about to take its first call."""

    def heard(self, upstream: Any, line: bytes, message: Json) -> None:
        """The server sent a request or a notification."""

    def down(self, upstream: Any, reason: str, printed: str) -> None:
        """The server has gone or could not be started; `printed` is the last of its stderr."""
