"""Words of the Model Context Protocol that the gateway uses; no logic."""

from store.typed import Json

# revisions reached by initialize, oldest first, and the stateless one
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
RESOURCE_NOT_FOUND = -32002
UNSUPPORTED_VERSION = -32022

# keys of a request's _meta from 2026-07-28 on
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
LISTEN = "subscriptions/listen"

# methods whose answer is a list in pages: method -> the list's key
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
# requests that 2026-07-28 has no more
REMOVED = frozenset(
    {"initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"}
)
# what a request's own _meta says of its host
ENVELOPE = frozenset({VERSION_KEY, CLIENT_INFO_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY})
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


PROGRESS, CANCELLED = "notifications/progress", "notifications/cancelled"


def negotiated(wanted: object, newest: str = HANDSHAKE[-1]) -> str:
    """The revision to answer to an initialize that asks for `wanted`."""
    known = HANDSHAKE[: HANDSHAKE.index(newest) + 1] if newest in HANDSHAKE else HANDSHAKE
    return wanted if isinstance(wanted, str) and wanted in known else known[-1]


def text_result(text: str, *, is_error: bool = False, **more: object) -> Json:
    """A tools/call result of one text."""
    result: Json = {"content": [{"type": "text", "text": text}], **more}
    if is_error:
        result["isError"] = True
    return result


def is_modern(params: object) -> bool:
    """True if a request's own _meta says that it is of the stateless revision."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def params_of(message: Json) -> Json:
    """A message's params, {} when there are none."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(message: Json) -> Json:
    """The _meta of a message's params, {} when there is none."""
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def progress_token(message: Json) -> str | int | None:
    """The token under which a request wants to hear of progress, None for none."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) else None


def with_progress_token(message: Json, token: str | int) -> Json:
    """A request that has a progress token, with another one."""
    params = params_of(message)
    return {**message, "params": {**params, "_meta": {**params["_meta"], "progressToken": token}}}


def progress_under(token: object, message: Json) -> Json:
    """A progress notification under another token."""
    return {**message, "params": {**params_of(message), "progressToken": token}}
