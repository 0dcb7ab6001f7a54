"""The host-facing loop: reads messages, greets in either era, hands the rest to the front."""

from collections.abc import Callable, Iterable

from app.core.scrubber import HIDDEN
from app.gateway.lines import LONGEST_LINE, TOO_LONG
from app.gateway.project import ProjectRules, folders_of_roots
from app.gateway.serving.mode import GatewayContext, ServingMode
from app.mcp import jsonrpc
from app.mcp.limits import NotJsonError, TooLargeError
from app.mcp.protocol import (
    CANCELLED,
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
    PROGRESS,
    REMOVED,
    SERVER_INFO_KEY,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    is_modern,
    meta_of,
    params_of,
)
from app.system.threads import import_typing
from store.typed import Json

_LONGEST_NAME = 100  # characters of a host's name for itself
_ID_TYPES = (int, str, float)
_NOT_DISCOVERED = ("protocolVersion", "serverInfo")


class Loop:
    """One host's conversation with the gateway."""

    def __init__(
        self, context: GatewayContext, front: Callable[[], ServingMode], rules: ProjectRules
    ) -> None:
        self._context = context
        self._rules = rules
        self._host = context.host
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
        first = True
        for line in lines:
            if self._host.gone:
                return
            if not line.isspace():
                self.take(line)
                if first:
                    first = False
                    import_typing()  # the greeting is answered: threads may import it from here on

    def take(self, line: bytes) -> None:
        """One line of the host."""
        if line.startswith(TOO_LONG):
            line = line.removeprefix(TOO_LONG)
            self._refuse_unread(line, f"You sent a message of over {LONGEST_LINE:,} bytes.")
            return
        try:
            messages, clean = jsonrpc.parse(line)
        except TooLargeError as error:
            self._refuse_unread(line, f"You sent {error}.")
            return
        except NotJsonError:
            self._host.send(jsonrpc.error(None, PARSE_ERROR, "Parse error"))
            return
        for message in messages:
            try:
                self._take(line if clean else b"", message)
            except Exception as error:  # noqa: BLE001 - one odd message must not end the session
                self._context.journal.add(
                    "error", problem=f"A message of the host: {error!r}"[:300]
                )

    def _refuse_unread(self, line: bytes, reason: str) -> None:
        """Answer a message that was not parsed, under its id where that can be seen."""
        request_id = jsonrpc.id_of(line)
        if request_id is not None:
            self._host.begin(request_id)
        self._host.respond(request_id, jsonrpc.error(request_id, INVALID_REQUEST, reason))

    def _take(self, line: bytes, message: Json) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                self._host.answer(line, message)
            elif "id" in message:
                request_id = message["id"] if type(message["id"]) in _ID_TYPES else None
                self._host.send(jsonrpc.error(request_id, INVALID_REQUEST, "Invalid request"))
            return
        if "id" not in message:
            self._notification(method, message)
            return
        if type(message["id"]) not in _ID_TYPES:
            self._host.send(jsonrpc.error(None, INVALID_REQUEST, "The id is no number or text"))
            return
        self._host.begin(message["id"])
        try:
            self._request(method, line, message)
        except Exception as error:  # noqa: BLE001 - one bad request must not end the session
            text = "The gateway could not handle this request; Toolcrib's journal says why."
            self._context.journal.add("error", problem=f"{method}: {error!r}"[:300])
            answer = jsonrpc.error(message["id"], INTERNAL_ERROR, text)
            self._host.respond(message["id"], answer)

    # ---- requests

    def _request(self, method: str, line: bytes, message: Json) -> None:
        params = params_of(message)
        if is_modern(params) or method == "server/discover":
            refusal = self._enter_modern(method, message)
            if refusal is not None:
                self._host.respond(message["id"], refusal)
                return
            if method in REMOVED:
                self._front().refuse_method(message)
                return
        own = self._own.get(method)
        if own is not None:
            own(params, message)
        elif not self._context.modern or not self._context.forwarder.resume(message):
            self._front().request(line, message)
            if method == "tools/list" and not self._listed:
                self._listed = True
                self._front().listed()

    def _enter_modern(self, method: str, message: Json) -> Json | None:
        """Note what a stateless request says of its host; the refusal if it cannot be served."""
        meta = meta_of(message)
        version = meta.get(VERSION_KEY)
        if not isinstance(version, str) or CAPABILITIES_KEY not in meta:
            text = f"params._meta lacks {VERSION_KEY} or {CAPABILITIES_KEY}"
            return jsonrpc.error(message["id"], INVALID_PARAMS, text)
        if version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            text = "Unsupported protocol version"
            return jsonrpc.error(message["id"], UNSUPPORTED_VERSION, text, data)
        self._host.modern = True
        self._context.hello = {
            "protocolVersion": HANDSHAKE[-1],
            "capabilities": meta.get(CAPABILITIES_KEY) or {},
            "clientInfo": meta.get(CLIENT_INFO_KEY) or self._context.hello["clientInfo"],
        }
        self._note_host()
        level = meta.get(LOG_LEVEL_KEY)
        if isinstance(level, str) and level != self._context.level:
            self._front().set_level(level)
        self._host.expect_modern(message["id"], method)
        return None

    def _initialize(self, params: Json, message: Json) -> None:
        hello = {k: v for k, v in params.items() if k != "_meta"}
        self._context.hello = {**self._context.hello, **hello}
        self._host.modern = False
        self._note_host()

        def answer(described: Json) -> None:
            self._host.respond(message["id"], jsonrpc.result(message["id"], described))

        self._front().describe(params, answer)

    def _ping(self, _params: Json, message: Json) -> None:
        self._host.respond(message["id"], jsonrpc.result(message["id"], {}))

    def _listen(self, params: Json, message: Json) -> None:
        self._context.listeners.open(message["id"], params.get("notifications"))
        for uri in self._context.listeners.uris():
            self._front().watch(uri)

    def _discover(self, _params: Json, message: Json) -> None:
        def answer(described: Json) -> None:
            result = {
                "supportedVersions": [MODERN],
                **{k: v for k, v in described.items() if k not in _NOT_DISCOVERED},
                "_meta": {SERVER_INFO_KEY: described.get("serverInfo", {})},
            }
            self._host.respond(message["id"], jsonrpc.result(message["id"], result))

        self._front().describe({}, answer)

    def _ask_for_roots(self) -> None:
        """Ask a host that names its roots, where a policy file may be in one of them."""
        capabilities = self._context.hello.get("capabilities")
        if not isinstance(capabilities, dict) or not isinstance(capabilities.get("roots"), dict):
            return
        if not self._rules.wants_roots:
            return

        def answered(_line: bytes, answer: Json) -> None:
            self._rules.add_folders(folders_of_roots(answer.get("result")))

        self._host.request(b"", jsonrpc.request("roots/list"), answered)

    def _note_host(self) -> None:
        info = self._context.hello.get("clientInfo")
        if isinstance(info, dict):
            name = str(info.get("name", ""))
            # one that is cut is compared with no secret
            self._context.journal.host = name if len(name) <= _LONGEST_NAME else HIDDEN

    # ---- notifications

    def _notification(self, method: str, message: Json) -> None:
        params = params_of(message)
        forwarder = self._context.forwarder
        if method == CANCELLED:
            if not self._context.listeners.close(params.get("requestId")):
                forwarder.cancel(params)
        elif method == PROGRESS:
            self._host.progress(message)
        elif method == "notifications/initialized":
            self._ask_for_roots()
        else:
            self._front().notification(message)
