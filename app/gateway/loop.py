"""The host-facing loop: reads messages, greets in either era, hands the rest to the front."""

from collections.abc import Callable, Iterable

from app.gateway import wire
from app.gateway.front import Front, Links
from app.gateway.protocol import (
    CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    HANDSHAKE,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LISTEN,
    LOG_LEVEL_KEY,
    MODERN,
    PARSE_ERROR,
    REMOVED,
    SERVER_INFO_KEY,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Json,
    is_modern,
    params_of,
)

_NOT_DISCOVERED = ("protocolVersion", "serverInfo")


class Loop:
    """One host's conversation with the gateway."""

    def __init__(self, links: Links, front: Callable[[], Front]) -> None:
        self._links = links
        self._host = links.host
        self._front = front
        self._listed = False
        self._own = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": self._ping,
            LISTEN: self._listen,
        }

    def run(self, lines: Iterable[bytes]) -> None:
        """Serve until the host closes its end or no longer reads."""
        for line in lines:
            if self._host.gone:
                return
            if not line.isspace():
                self.take(line)

    def take(self, line: bytes) -> None:
        """One line of the host."""
        try:
            messages, clean = wire.parse(line)
        except wire.NotJsonError:
            self._host.send(wire.error(None, PARSE_ERROR, "Parse error"))
            return
        for message in messages:
            self._take(line if clean else b"", message)

    def _take(self, line: bytes, message: Json) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                self._host.answer(line, message)
            elif "id" in message:
                self._host.send(wire.error(message["id"], INVALID_REQUEST, "Invalid request"))
            return
        if "id" not in message:
            self._notification(method, message)
            return
        try:
            self._request(method, line, message)
        except Exception as error:  # noqa: BLE001 - one bad request must not end the session
            text = f"{type(error).__name__} in the gateway"
            self._links.journal.add("error", problem=f"{method}: {error!r}"[:300])
            answer = wire.error(message["id"], INTERNAL_ERROR, text)
            self._host.respond(message["id"], answer)

    # ---- requests

    def _request(self, method: str, line: bytes, message: Json) -> None:
        params = params_of(message)
        if is_modern(params) or method == "server/discover":
            refusal = self._enter_modern(method, params, message)
            if refusal is not None:
                self._host.send(refusal)
                return
            if method in REMOVED:
                self._front().refuse_method(message)
                return
        own = self._own.get(method)
        if own is not None:
            own(params, message)
        elif not self._links.modern or not self._links.forwarder.resume(message):
            self._front().request(line, message)
            if method == "tools/list" and not self._listed:
                self._listed = True
                self._front().listed()

    def _enter_modern(self, method: str, params: Json, message: Json) -> Json | None:
        """Note what a stateless request says of its host; the refusal if it cannot be served."""
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(VERSION_KEY)
        if not isinstance(version, str) or CAPABILITIES_KEY not in meta:
            text = f"params._meta lacks {VERSION_KEY} or {CAPABILITIES_KEY}"
            return wire.error(message["id"], INVALID_PARAMS, text)
        if version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            text = "Unsupported protocol version"
            return wire.error(message["id"], UNSUPPORTED_VERSION, text, data)
        self._host.modern = True
        self._links.hello = {
            "protocolVersion": HANDSHAKE[-1],
            "capabilities": meta.get(CAPABILITIES_KEY) or {},
            "clientInfo": meta.get(CLIENT_INFO_KEY) or self._links.hello["clientInfo"],
        }
        self._note_host()
        level = meta.get(LOG_LEVEL_KEY)
        if isinstance(level, str) and level != self._links.level:
            self._front().set_level(level)
        self._host.expect_modern(message["id"], method)
        return None

    def _initialize(self, params: Json, message: Json) -> None:
        hello = {k: v for k, v in params.items() if k != "_meta"}
        self._links.hello = {**self._links.hello, **hello}
        self._host.modern = False
        self._note_host()

        def answer(described: Json) -> None:
            self._host.respond(message["id"], wire.result(message["id"], described))

        self._front().describe(params, answer)

    def _ping(self, _params: Json, message: Json) -> None:
        self._host.respond(message["id"], wire.result(message["id"], {}))

    def _listen(self, params: Json, message: Json) -> None:
        self._links.listeners.open(message["id"], params.get("notifications"))
        for uri in self._links.listeners.uris():
            self._front().watch(uri)

    def _discover(self, _params: Json, message: Json) -> None:
        def answer(described: Json) -> None:
            found = {
                "supportedVersions": [MODERN],
                **{k: v for k, v in described.items() if k not in _NOT_DISCOVERED},
                "_meta": {SERVER_INFO_KEY: described.get("serverInfo", {})},
            }
            self._host.respond(message["id"], wire.result(message["id"], found))

        self._front().describe({}, answer)

    def _note_host(self) -> None:
        info = self._links.hello.get("clientInfo")
        if isinstance(info, dict):
            self._links.journal.host = str(info.get("name", ""))[:100]

    # ---- notifications

    def _notification(self, method: str, message: Json) -> None:
        params = params_of(message)
        forwarder = self._links.forwarder
        if method == "notifications/cancelled":
            if not self._links.listeners.close(params.get("requestId")):
                forwarder.cancel(params)
        elif method == "notifications/progress":
            forwarder.progress_of_host(message)
        elif method != "notifications/initialized":
            self._front().notification(message)
