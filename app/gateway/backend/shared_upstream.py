"""One session's hold of a shared server, used as a server of its own."""

import math

from app.gateway.backend.shared_server import SharedServer
from app.mcp import jsonrpc
from app.mcp.protocol import PROGRESS, params_of
from app.mcp.requests import PendingRequest, UpstreamEvents
from app.mcp.session import CLOSING, LET_GO, Upstream
from store.typed import Json


class SharedUpstream(Upstream):
    """One session's hold of a shared server, used as a server of its own."""

    is_shared = True

    def __init__(self, server: SharedServer, name: str, events: UpstreamEvents) -> None:
        self.name = name
        self.server = server
        self.events = events
        self.subscribed: set[str] = set()
        self.patience = math.inf  # seconds without use, after which the server may end
        self.left = ""  # reason that it holds the server no more
        server.join(self)

    @property
    def upstream(self) -> Upstream:
        """Itself."""
        return self

    @property
    def started(self) -> bool:
        """True if requests go straight to the server."""
        return self.server.upstream.started

    @property
    def modern(self) -> bool:
        """True if the running server speaks the stateless revision."""
        return self.server.upstream.modern

    @property
    def state(self) -> str:  # type: ignore[override]
        """State of the server's start."""
        return self.server.upstream.state

    @property
    def problem(self) -> str:  # type: ignore[override]
        """Reason that it could not be started or has ended."""
        return self.server.upstream.problem

    @property
    def version(self) -> str:
        """The revision that the running server speaks."""
        return self.server.upstream.version

    @property
    def calls(self) -> int:  # type: ignore[override]
        """Number of tools/call that the running server got, from all sessions."""
        return self.server.upstream.calls

    @property
    def list_changes(self) -> int:
        """Number of times that the running server announced another list of tools."""
        return self.server.upstream.list_changes

    @property
    def hello_result(self) -> Json:
        """Its answer to the handshake."""
        return self.server.upstream.hello_result

    def request(self, exchange: PendingRequest) -> None:
        """Send a request; one session's log level is not the others'."""
        method = exchange.message.get("method")
        uri = params_of(exchange.message).get("uri")
        if method == "logging/setLevel":
            exchange.answered(b"", jsonrpc.result(0, {}))
        elif method == "resources/subscribe" and isinstance(uri, str):
            self.server.subscribe(self, exchange, uri)
        elif method == "resources/unsubscribe" and isinstance(uri, str):
            self.server.unsubscribe(self, exchange, uri)
        else:
            self.server.request(self, exchange)

    def start(self) -> None:
        """Start the server ahead of its first call."""
        self.server.upstream.start()

    def notify(self, message: Json, line: bytes = b"") -> None:
        """Progress reaches the server; one host's other news is not the others'."""
        if message["method"] == PROGRESS:
            self.server.upstream.notify(message, line)

    def cancel(self, exchange: PendingRequest, params: Json) -> None:
        """Withdraw a request of this session."""
        self.server.cancel(exchange, params)

    def check(self) -> None:
        """The pool looks after the server."""

    def rest(self, seconds: float) -> None:
        """This session could do without the server after so long; all must agree."""
        self.patience = seconds
        self.server.rest()

    def release(self) -> bool:
        """Let go of it once this session has nothing under way; others may hold it."""
        self.left = LET_GO
        return self.server.leave(self, idle=True)

    def stop(self) -> None:
        """End the server for every session."""
        self.server.upstream.stop()

    def close(self, grace: float) -> None:  # noqa: ARG002 - the pool ends the server
        """Let go; the server lives on while others hold it."""
        self.left = CLOSING
        self.server.leave(self)
