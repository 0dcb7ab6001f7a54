"""A conversation with a server in raw JSON, in either era of the protocol."""

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mcp.shared.dispatcher import CallOptions, DispatchContext, Dispatcher
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from app.discovery.reading import LEGACY, MODERN
from store.records import Json

# What hosts between them can do: servers show some tools only to a client that can do this.
CAPABILITIES: Json = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}}}


class Wire:
    """Requests under the stamps of the era that the server turned out to speak."""

    def __init__(
        self, dispatcher: Dispatcher[Any], era: str = LEGACY, *, closed: Callable[[], bool]
    ) -> None:
        self.era = era
        self.greeted = False
        self.protocol = LATEST_HANDSHAKE_VERSION if era == LEGACY else LATEST_MODERN_VERSION
        self.asked = "to be started"  # what the server was asked last, for error texts
        self._dispatcher = dispatcher
        self._closed = closed  # an error's code does not tell: servers use the SDK's own

    async def greet(self) -> Json:
        """The server's answer to the greeting; raises MCPError.

        initialize comes first because every server known answers it, while some die on
        server/discover; a server that refuses one way is asked again in the other.
        """
        first = self.era
        try:
            answer = await self._greet(first)
        except MCPError as refusal:
            if self._closed():
                raise
            try:
                answer = await self._greet(MODERN if first == LEGACY else LEGACY)
            except MCPError:
                self.asked = "to answer initialize" if first == LEGACY else "to answer discover"
                raise refusal from None
        self.greeted = True
        return answer

    async def _greet(self, era: str) -> Json:
        self.era = era
        if era == LEGACY:
            answer = await self._initialize()
            self.protocol = str(answer.get("protocolVersion") or self.protocol)
            await self.tell("notifications/initialized")
            return answer
        self.protocol = LATEST_MODERN_VERSION
        answer = await self.ask("server/discover", {})
        if LATEST_MODERN_VERSION not in (answer.get("supportedVersions") or ()):
            raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, "It speaks no protocol version of ours.")
        return answer

    async def ask(self, method: str, params: Json) -> Json:
        """The raw result of a request; raises MCPError."""
        self.asked = f"to answer {method}"
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.protocol}
        if self.era == MODERN:
            headers[MCP_METHOD_HEADER] = method
            params = {**params, "_meta": _modern_meta(self.protocol)}
        options: CallOptions = {"headers": headers, "cancel_on_abandon": False}
        return await self._dispatcher.send_raw_request(method, params, options)

    async def tell(self, method: str) -> None:
        """Send a notification."""
        options: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.protocol}}
        await self._dispatcher.notify(method, None, options)

    async def _initialize(self) -> Json:
        self.asked, self.protocol = "to answer initialize", LATEST_HANDSHAKE_VERSION
        params = {
            "protocolVersion": self.protocol,
            "capabilities": CAPABILITIES,
            "clientInfo": client_info(),
        }
        return await self._dispatcher.send_raw_request(
            "initialize", params, {"cancel_on_abandon": False}
        )


def client_info() -> Json:
    """Our name and version, as servers see them."""
    try:
        return {"name": "toolcrib", "version": version("toolcrib")}
    except PackageNotFoundError:  # a frozen program carries no metadata
        return {"name": "toolcrib", "version": "0"}


def server_info(greeting: Json) -> Json:
    """What the server calls itself, in either era."""
    meta = greeting.get("_meta")
    found = greeting.get("serverInfo") or (
        meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    )
    return found if isinstance(found, dict) else {}


async def answer_server(
    _context: DispatchContext[TransportContext], method: str, _params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a server gets that asks something while it is being read."""
    if method == "ping":
        return {}
    if method == "roots/list":
        return {"roots": []}
    if method == "elicitation/create":
        return {"action": "decline"}
    raise MCPError(code=METHOD_NOT_FOUND, message="Not while the tools are being read.")


async def ignore_notice(
    _context: DispatchContext[TransportContext], _method: str, _params: Mapping[str, Any] | None
) -> None:
    """Notifications do not matter while a server is read."""


def _modern_meta(protocol: str) -> Json:
    return {
        PROTOCOL_VERSION_META_KEY: protocol,
        CLIENT_INFO_META_KEY: client_info(),
        CLIENT_CAPABILITIES_META_KEY: CAPABILITIES,
    }
