"""A request of the host on its way to a server."""

from collections.abc import Callable

from app.mcp import jsonrpc
from app.mcp.requests import PendingRequest
from app.mcp.session import Upstream
from store.typed import Any, Json, Protocol

CHARACTERS_A_TOKEN = 4  # of an answer, an estimate
Key = tuple[type, Any]


class RequestOwner(Protocol):
    """Sender of a request, which answers the host."""

    def answered(self, request: "HostRequest", line: bytes, answer: Json) -> None:
        """The server has answered."""

    def failed(self, request: "HostRequest", reason: str) -> None:
        """There will be no answer of the server."""

    def notify_host(self, line: bytes, message: Json) -> None:
        """Pass a notification of the server on."""


class HostRequest(PendingRequest):
    """A request of the host on its way to a server; its kinds look at what comes of it."""

    __slots__ = (
        "forwarder",
        "host_id",
        "is_refused",
        "is_withdrawn",
        "rounds",
        "settled",
        "upstream",
    )

    forwarder: "RequestOwner"  # from when it is sent

    def __init__(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """`line` is b"" when the message was rewritten."""
        super().__init__(line, message)
        self.upstream = upstream
        self.host_id = message["id"]
        self.rounds = 0
        self.is_refused = False  # answered from here
        self.is_withdrawn = False  # the host no longer wants an answer
        self.settled = False  # one answer is on its way: a second one counts nothing

    @property
    def key(self) -> Key:
        """The host's id; 1 and "1" are two."""
        return type(self.host_id), self.host_id

    def answered(self, line: bytes, answer: Json) -> None:
        """Answer the host."""
        self.forwarder.answered(self, line, answer)

    def failed(self, reason: str) -> None:
        """Tell the host why there is no answer."""
        self.forwarder.failed(self, reason)

    def progressed(self, line: bytes, message: Json) -> None:
        """Tell the host, if it still waits."""
        if not self.is_withdrawn:
            self.forwarder.notify_host(line, message)

    def refuse(self, answer: Json) -> None:
        """Answer the host with this; the server is not asked."""
        self.is_refused = True
        self.answered(b"", answer)

    def refused(self, result: Json) -> None:
        """Answer the host with this result; the server is not asked."""
        self.refuse(jsonrpc.result(self.host_id, result))

    def guarded(self, step: Callable[[Any], None]) -> Callable[[Any], None]:
        """A step that some other thread runs later: where it breaks, the host still hears."""

        def run(outcome: Any) -> None:
            try:
                step(outcome)
            except Exception:  # noqa: BLE001 - whatever it was, the host waits for an answer
                self.failed("The gateway could not handle this call.")

        return run

    # ---- what kinds of requests may add

    def prepare(self, send: Callable[[], None]) -> None:
        """Run `send` when the request may go to its server, or answer it; at once or later."""
        send()

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """Another answer to give; None leaves the server's as it came."""

    def ending(self) -> None:
        """The host is about to be answered."""

    def done(self) -> None:
        """The host has been answered."""

    def unreached(self, reason: str) -> None:
        """There will be no answer of the server."""
