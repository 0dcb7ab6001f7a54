"""When the store cannot be served: the gateway still initializes, and every call says why."""

from app.catalog.menu_tools import menu_tools
from app.gateway.serving.mode import VERSION, Answer, GatewayContext, ServingMode, described
from app.mcp.protocol import LISTS, negotiated, params_of, text_result
from store.typed import Json


class Unavailable(ServingMode):
    """Answers everything with the reason."""

    is_ready = False

    def __init__(self, context: GatewayContext, server: str, reason: str) -> None:
        super().__init__(context)
        self._server = server
        self._reason = reason

    def describe(self, params: Json, answer: Answer) -> None:
        """Tools only, and the reason as instructions."""
        version = negotiated(params.get("protocolVersion"))
        info = {"name": self._server or "toolcrib", "version": VERSION}
        answer(described(version, {"tools": {"listChanged": True}}, info, self._reason))

    def request(self, line: bytes, message: Json) -> None:  # noqa: ARG002
        """The reason, in the form that the method has for it."""
        method = message["method"]
        if method == "tools/call":
            name = params_of(message).get("name")
            self.context.journal.add("error", tool=str(name), problem=self._reason)
            self.reply(message, text_result(self._reason, is_error=True))
        elif method == "tools/list":
            self.reply(message, {"tools": [] if self._server else menu_tools("")})
        elif method in LISTS:
            self.reply(message, {LISTS[method]: []})
        else:
            self.refuse_method(message)
