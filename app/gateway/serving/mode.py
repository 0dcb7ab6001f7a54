"""Base of both ways of serving: the way to host and servers, and the messages both pass on."""

from collections.abc import Callable, Sequence
from functools import cached_property

from app.catalog.reasons import CHANGED, NEW
from app.gateway.environment import GatewayEnvironment
from app.gateway.host_request import HostRequest
from app.gateway.journal import Journal
from app.gateway.labels import Labels
from app.gateway.live_tools import LiveTools
from app.gateway.new_tools import NewTools
from app.gateway.outgoing import Outgoing
from app.gateway.profile_view import ProfileView
from app.gateway.server_lists import ServerLists
from app.gateway.serving.forwarder import Forwarder
from app.gateway.serving.host import Host
from app.gateway.serving.subscriptions import Subscriptions
from app.mcp import jsonrpc, revisions
from app.mcp.protocol import (
    CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LISTEN,
    LOG_LEVEL_KEY,
    METHOD_NOT_FOUND,
    MODERN,
    VERSION_KEY,
    params_of,
)
from app.mcp.requests import OwnRequest, PendingRequest, ServerRequest
from app.mcp.session import Upstream
from store.serving import ServerRow
from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from app.gateway.approvals import Approvals, Hold
    from app.gateway.call import CallContext
    from app.indexing.list_changes import ListChanges

VERSION = "0.1.0"
Answer = Callable[[Json], None]


class GatewayContext:
    """Everything that a way of serving is given."""

    __slots__ = (
        "_approvals",
        "environment",
        "forwarder",
        "hello",
        "host",
        "journal",
        "level",
        "listeners",
        "new_tools",
        "outgoing",
        "server_lists",
        "view",
    )

    def __init__(
        self, host: Host, view: ProfileView, journal: Journal, environment: GatewayEnvironment
    ) -> None:
        self.host = host
        self.environment = environment
        self.view = view
        self.journal = journal
        self.new_tools = NewTools(view.database, environment.scrubber)
        self.forwarder = Forwarder(host, Labels(journal, environment.scrubber))
        self.listeners = Subscriptions(host)
        self.server_lists = ServerLists(view, journal, environment.scrubber)
        self.hello: Json = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "toolcrib", "version": VERSION},
        }
        self.level = ""  # the logging level that the host asked for
        self.outgoing = Outgoing(environment.seen, view, journal, self.ask_user)
        self._approvals: Approvals | None = None

    @property
    def approvals(self) -> "Approvals":
        """Calls that wait for a person's yes; loaded with the first that may."""
        if self._approvals is None:
            from app.gateway.approvals import Approvals

            hide = self.environment.hide_all
            self._approvals = Approvals(self.view, self.journal, self.ask_user, hide)
        return self._approvals

    def hold(self, tool_id: str, raw: str, arguments: object, held: str) -> "Hold | None":
        """Way of a call that needs a yes, as of `Approvals.hold`; None for any other."""
        if not held and not self.view.setting("approve", ()):
            return None
        return self.approvals.hold(tool_id, raw, arguments, held)

    def may_ask(self, reason: str) -> bool:
        """True if a call of a tool that is held for this reason waits for a yes."""
        return self.approvals.may_ask(reason)

    def close(self) -> None:
        """Send nothing of what waits for a yes."""
        if self._approvals is not None:
            self._approvals.close()

    @property
    def modern(self) -> bool:
        """True if the host speaks the stateless revision."""
        return self.host.modern

    def ask_user(self, call: HostRequest, question: str, answered: Callable[[str], None]) -> bool:
        """Ask the user about a call that waits; False where the host shows no forms."""
        able = (self.hello.get("capabilities") or {}).get("elicitation")
        if not isinstance(able, dict) or (able and "form" not in able):
            return False
        self.forwarder.ask_user(call, question, answered)
        return True


class ServingMode:
    """One way of serving: pruned, through, or neither because the store cannot be read."""

    is_ready = True  # serves from the store

    def __init__(self, context: GatewayContext) -> None:
        self.context = context
        self.live = LiveTools(
            context.view, self.ingest, context.environment.scrubber, clock=context.environment.clock
        )
        self.subscribed: dict[str, list[str]] = {}  # server -> URIs, for after a restart
        self._streams: dict[str, PendingRequest] = {}  # a stateless server's subscriptions/listen
        self._upstreams: dict[str, Upstream] = {}
        self._specs: dict[str, str] = {}  # by which each of them is started
        self._leaving: list[Upstream] = []  # started by what was stored before

    @cached_property
    def calls(self) -> "CallContext":
        """Parts that every call uses; loaded with the first."""
        from app.gateway.call import CallContext

        context = self.context
        return CallContext(
            context.journal, context.outgoing, self.live, context.hold, context.may_ask
        )

    # ---- what a way of serving answers

    def describe(self, params: Json, answer: Answer) -> None:
        """Give serverInfo, capabilities and instructions; at once, or after a start."""
        raise NotImplementedError

    def request(self, line: bytes, message: Json) -> None:
        """Answer a request of the host, or send it on."""
        raise NotImplementedError

    def upstreams(self) -> list[Upstream]:
        """The servers behind this gateway that were needed so far."""
        return [*self._upstreams.values(), *self._leaving]

    def upstream_of(
        self, name: str, row: ServerRow | None, command: Sequence[str] = ()
    ) -> Upstream:
        """The server of that name, made when it is first needed, and anew when it was edited.

        One that the host itself names by `command` is the host's to start anew.
        """
        upstream = self._upstreams.get(name)
        edited = row is not None and not command and row.spec != self._specs.get(name, row.spec)
        if edited:
            self.let_go(name)
        if upstream is None or edited:
            modern = row is not None and row.taken_with.get("era") == "modern"
            upstream = self.context.environment.upstream(name, row, command, self, modern=modern)
            self._upstreams[name] = upstream
            if row is not None:
                self._specs[name] = row.spec
        return upstream

    def let_go(self, name: str) -> None:
        """End the server of that name once nothing is under way; its next call starts one anew."""
        upstream = self._upstreams.pop(name, None)
        if upstream is not None:
            self._leaving.append(upstream)
            self.live.forget(name)

    def tick(self) -> None:
        """Once a second: take in what the window changed."""
        self._leaving = [upstream for upstream in self._leaving if not upstream.release()]

    def listed(self) -> None:
        """The first tools/list has been answered; slow things may load now."""

    # ---- what both do alike

    def ingest(self, row: ServerRow, items: list[Json], stored: Callable[[], None]) -> None:
        """Keep new and changed tools of a running server, and note in the journal which.

        `stored` is called when they are in the store, with what speaks against them.
        """

        def done(changes: "ListChanges") -> None:
            kind = "load" if self.context.view.settings.get("new_tools") == "on" else "held"
            try:
                for name in changes.added:
                    self.context.journal.add(kind, tool=f"{row.name}/{name}", problem=NEW)
                for name in changes.changed:
                    self.context.journal.add("held", tool=f"{row.name}/{name}", problem=CHANGED)
            finally:  # calls wait for it
                stored()

        self.context.new_tools.ingest(row, items, done)

    def notification(self, message: Json) -> None:
        """Pass a notification of the host to every running server."""
        for upstream in self.upstreams():
            if upstream.started:
                upstream.notify(message)

    def hello(self) -> Json:
        """The params of initialize for a server: the host's own."""
        return self.context.hello

    def stateless(self) -> bool:
        """True if the host speaks the stateless revision."""
        return self.context.modern

    def envelope(self) -> Json:
        """The host's own words in every request to a stateless server."""
        hello = self.context.hello
        envelope: Json = {
            VERSION_KEY: MODERN,
            CLIENT_INFO_KEY: hello.get("clientInfo", {}),
            CAPABILITIES_KEY: hello.get("capabilities", {}),
        }
        return envelope | ({LOG_LEVEL_KEY: self.context.level} if self.context.level else {})

    def opening_requests(self, upstream: Upstream) -> list[PendingRequest]:
        """Earlier requests of the host, to repeat to a server that was just started."""
        if upstream.modern:
            return [self._stream(upstream)]
        capabilities = upstream.hello_result.get("capabilities") or {}
        requests: list[PendingRequest] = []
        if self.context.level and "logging" in capabilities:
            requests.append(_own_request("logging/setLevel", {"level": self.context.level}))
        for uri in self.subscribed.get(upstream.name, ()):
            requests.append(_own_request("resources/subscribe", {"uri": uri}))
        return requests

    def ready(self, upstream: Upstream) -> None:
        """A server was just started: its tools may be others than those of the store."""
        self.live.read(upstream)

    def _stream(self, upstream: Upstream) -> PendingRequest:
        """The request for the stream on which a stateless server says what changed."""
        topics: Json = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": True,
        }
        uris = self.subscribed.get(upstream.name)
        if uris:
            topics["resourceSubscriptions"] = list(uris)
        stream = _own_request(LISTEN, {"notifications": topics})
        self._streams[upstream.name] = stream
        return stream

    def subscribe(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a resources/(un)subscribe on, and remember it for after a restart."""
        self.context.forwarder.send(_Subscription(self, upstream, line, message))

    def remember(self, upstream: Upstream, method: str, uri: object) -> None:
        """Note the resources that the host watches."""
        uris = self.subscribed.setdefault(upstream.name, [])
        if not isinstance(uri, str) or (uri in uris) == (method == "resources/subscribe"):
            return
        if method == "resources/subscribe":
            uris.append(uri)
        else:
            uris.remove(uri)
        if upstream.started and upstream.modern:
            old = self._streams.get(upstream.name)
            upstream.request(self._stream(upstream))
            if old is not None:
                upstream.cancel(old, {})

    def watches(self, upstream: Upstream) -> bool:
        """True if the host wants to hear of changes of one of the server's resources."""
        return bool(self.subscribed.get(upstream.name))

    def watch_at(self, upstream: Upstream, uri: str) -> None:
        """Subscribe for a stateless host, which opened a stream."""
        self.remember(upstream, "resources/subscribe", uri)
        if not upstream.started:
            upstream.start()  # whose first words are the subscriptions
        elif not upstream.modern:
            self.request_own(upstream, "resources/subscribe", {"uri": uri})

    def set_level(self, level: str) -> None:
        """The host wants other log messages."""
        self.context.level = level
        for upstream in self.upstreams():
            capabilities = upstream.hello_result.get("capabilities") or {}
            if upstream.started and not upstream.modern and "logging" in capabilities:
                self.request_own(upstream, "logging/setLevel", {"level": level})

    def watch(self, uri: str) -> None:
        """A stateless host wants to hear of changes of a resource."""

    def request_own(self, upstream: Upstream, method: str, params: Json) -> None:
        """A request of our own whose answer does not matter."""
        upstream.request(_own_request(method, params))

    def on_request(self, upstream: Upstream, request: ServerRequest) -> None:
        """A server's own request, on its way to the host."""
        self.context.environment.note_request(upstream.name, request.method)
        self.context.forwarder.ask_host(upstream, request)

    def on_notification(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """A notification of a server, on its way to the host."""
        if message.get("method") == "notifications/subscriptions/acknowledged":
            return
        if upstream.modern:
            line, message = b"", revisions.without_envelope(message)
        context, method = self.context, message.get("method")
        if context.modern and context.listeners.handles(method):
            context.listeners.send(message)
        elif (
            not context.modern
            or upstream.modern
            or method != "notifications/message"
            or context.forwarder.wants_log(upstream, params_of(message).get("level"))
        ):
            context.forwarder.notify_host(line, message)

    def down(self, upstream: Upstream, reason: str, printed: str) -> None:
        """A server has gone."""
        self.live.forget(upstream.name)
        detail = {"stderr": printed} if printed else {}
        self.context.journal.add("error", tool=f"{upstream.name}/", problem=reason, detail=detail)

    def refuse_method(self, message: Json) -> None:
        """-32601."""
        self.refuse(message, METHOD_NOT_FOUND, f"Method not found: {message['method']}")

    def refuse(self, message: Json, code: int, text: str, data: object = None) -> None:
        """Answer a request of the host with an error."""
        self.context.host.respond(message["id"], jsonrpc.error(message["id"], code, text, data))

    def reply(self, message: Json, result: Json) -> None:
        """Answer a request of the host from here."""
        self.context.host.respond(message["id"], jsonrpc.result(message["id"], result))


class _Subscription(HostRequest):
    """A resources/(un)subscribe of the host."""

    __slots__ = ("_front",)

    def __init__(self, front: ServingMode, upstream: Upstream, line: bytes, message: Json) -> None:
        super().__init__(upstream, line, message)
        self._front = front

    def finish(self, _line: bytes, answer: Json) -> Json | None:
        """Remember it once the server has agreed."""
        modern = self.upstream.modern
        if "result" in answer or modern:
            uri = params_of(self.message).get("uri")
            self._front.remember(self.upstream, self.message["method"], uri)
        # a stateless server has no such method: its stream was opened anew instead
        return jsonrpc.result(self.host_id, {}) if modern else None


def _own_request(method: str, params: Json) -> OwnRequest:
    """A request of our own; its answer does not go to the host."""
    return OwnRequest(jsonrpc.request(method, params))


def described(version: str, capabilities: Json, info: Json, instructions: str) -> Json:
    """The answer to initialize, in the words of one server."""
    result: Json = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "toolcrib", "version": "0"} | info,
    }
    if instructions:
        result["instructions"] = instructions
    return result
