"""What the two ways of serving share: the links to host and servers, and what both pass on."""

from collections.abc import Callable

from app.gateway import eras, wire
from app.gateway.catalog import Shelf
from app.gateway.exchange import Asked, Exchange
from app.gateway.forward import Forwarder, Route
from app.gateway.host import Host
from app.gateway.journal import Journal
from app.gateway.listeners import Listeners
from app.gateway.protocol import (
    CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LISTEN,
    LOG_LEVEL_KEY,
    METHOD_NOT_FOUND,
    MODERN,
    VERSION_KEY,
    Json,
    params_of,
)
from app.gateway.upstream import Upstream

VERSION = "0.1.0"
Answer = Callable[[Json], None]


class Links:
    """Everything that a way of serving is given."""

    __slots__ = (
        "forwarder",
        "hello",
        "host",
        "journal",
        "level",
        "listeners",
        "shelf",
    )

    def __init__(self, host: Host, shelf: Shelf, journal: Journal) -> None:
        self.host = host
        self.shelf = shelf
        self.journal = journal
        self.forwarder = Forwarder(host)
        self.listeners = Listeners(host)
        self.hello: Json = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "toolcrib", "version": VERSION},
        }
        self.level = ""  # the logging level that the host asked for

    @property
    def modern(self) -> bool:
        """Whether the host speaks the stateless revision."""
        return self.host.modern


class Front:
    """One way of serving: pruned, through, or neither because the store cannot be read."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.subscribed: dict[str, list[str]] = {}  # server -> URIs, for after a restart
        self._streams: dict[str, Exchange] = {}  # a stateless server's subscriptions/listen

    # ---- what a way of serving answers

    def describe(self, params: Json, answer: Answer) -> None:
        """Give serverInfo, capabilities and instructions; at once, or after a start."""
        raise NotImplementedError

    def request(self, line: bytes, message: Json) -> None:
        """Answer a request of the host, or send it on."""
        raise NotImplementedError

    def upstreams(self) -> list[Upstream]:
        """The servers behind this gateway, started or not."""
        raise NotImplementedError

    def tick(self) -> None:
        """Once a second: take in what the window changed."""

    def listed(self) -> None:
        """The first tools/list has been answered; slow things may load now."""

    # ---- what both do alike

    def notification(self, message: Json) -> None:
        """Pass a notification of the host to every running server."""
        for upstream in self.upstreams():
            if upstream.started:
                upstream.notify(message)

    def hello(self) -> Json:
        """The params of initialize for a server: the host's own."""
        return self.links.hello

    def stateless(self) -> bool:
        """Whether the host speaks the stateless revision."""
        return self.links.modern

    def envelope(self) -> Json:
        """The host's own words in every request to a stateless server."""
        hello = self.links.hello
        envelope: Json = {
            VERSION_KEY: MODERN,
            CLIENT_INFO_KEY: hello.get("clientInfo", {}),
            CAPABILITIES_KEY: hello.get("capabilities", {}),
        }
        return envelope | ({LOG_LEVEL_KEY: self.links.level} if self.links.level else {})

    def first_words(self, upstream: Upstream) -> list[Exchange]:
        """What the host had said before, for a server that was just started."""
        if upstream.modern:
            return [self._stream(upstream)]
        capabilities = upstream.hello_result.get("capabilities") or {}
        said: list[Exchange] = []
        if self.links.level and "logging" in capabilities:
            said.append(_untold("logging/setLevel", {"level": self.links.level}))
        for uri in self.subscribed.get(upstream.name, ()):
            said.append(_untold("resources/subscribe", {"uri": uri}))
        return said

    def ready(self, upstream: Upstream) -> None:
        """A server was just started."""

    def _stream(self, upstream: Upstream) -> Exchange:
        """The request for the stream on which a stateless server says what changed."""
        wanted: Json = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": True,
        }
        uris = self.subscribed.get(upstream.name)
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        stream = _untold(LISTEN, {"notifications": wanted})
        self._streams[upstream.name] = stream
        return stream

    def subscribe(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a resources/(un)subscribe on, and remember it for after a restart."""
        self.links.forwarder.send(_Subscription(self, upstream, line, message))

    def remember(self, upstream: Upstream, method: str, uri: object) -> None:
        """Which resources the host watches."""
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

    def watch_at(self, upstream: Upstream, uri: str) -> None:
        """Subscribe for a stateless host, which opened a stream."""
        self.remember(upstream, "resources/subscribe", uri)
        if not upstream.started:
            upstream.start()  # whose first words are the subscriptions
        elif not upstream.modern:
            self.tell(upstream, "resources/subscribe", {"uri": uri})

    def set_level(self, level: str) -> None:
        """The host wants other log messages."""
        self.links.level = level
        for upstream in self.upstreams():
            capabilities = upstream.hello_result.get("capabilities") or {}
            if upstream.started and not upstream.modern and "logging" in capabilities:
                self.tell(upstream, "logging/setLevel", {"level": level})

    def watch(self, uri: str) -> None:
        """A stateless host wants to hear of changes of a resource."""

    def tell(self, upstream: Upstream, method: str, params: Json) -> None:
        """A request of our own whose answer does not matter."""
        upstream.request(_untold(method, params))

    def heard(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """A server's own request or notification, on its way to the host."""
        method = message.get("method")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        forwarder = self.links.forwarder
        if "id" in message:
            if method == "ping":
                upstream.notify(wire.result(message["id"], {}))
            else:
                forwarder.ask_host(upstream, line, message)
        elif method == "notifications/progress":
            forwarder.progress_of_server(upstream, line, message)
        elif method == "notifications/cancelled":
            forwarder.cancelled_by_server(upstream, params)
        else:
            self.told(upstream, line, message)

    def told(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Any other notification of a server."""
        if message.get("method") == "notifications/subscriptions/acknowledged":
            return
        if upstream.modern:
            line, message = b"", eras.without_envelope(message)
        links, method = self.links, message.get("method")
        if links.modern and links.listeners.handles(method):
            links.listeners.send(message)
        elif (
            not links.modern
            or upstream.modern
            or method != "notifications/message"
            or links.forwarder.wants_log(upstream, params_of(message).get("level"))
        ):
            links.forwarder.notify_host(line, message)

    def down(self, upstream: Upstream, reason: str, printed: str) -> None:
        """A server has gone."""
        self.links.forwarder.server_gone(upstream)
        detail = {"stderr": printed} if printed else {}
        self.links.journal.add("error", tool=f"{upstream.name}/", problem=reason, detail=detail)

    def refuse_method(self, message: Json) -> None:
        """-32601."""
        text = f"Method not found: {message['method']}"
        self.links.host.respond(message["id"], wire.error(message["id"], METHOD_NOT_FOUND, text))

    def reply(self, message: Json, result: Json) -> None:
        """Answer a request of the host from here."""
        self.links.host.respond(message["id"], wire.result(message["id"], result))


class _Subscription(Route):
    """A resources/(un)subscribe of the host."""

    __slots__ = ("_front",)

    def __init__(self, front: Front, upstream: Upstream, line: bytes, message: Json) -> None:
        super().__init__(upstream, line, message)
        self._front = front

    def finish(self, _line: bytes, answer: Json) -> Json | None:
        """Remember it once the server has agreed."""
        modern = self.upstream.modern
        if "result" in answer or modern:
            uri = params_of(self.message).get("uri")
            self._front.remember(self.upstream, self.message["method"], uri)
        # a stateless server has no such method: its stream was opened anew instead
        return wire.result(self.host_id, {}) if modern else None


def _untold(method: str, params: Json) -> Asked:
    """A request of our own whose answer the host is not told."""
    message: Json = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
    return Asked(message)
