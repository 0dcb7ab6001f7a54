"""Requests of 2026-07-28 over HTTP: what their headers repeat of their bodies must agree."""

import base64
import binascii
from collections.abc import Mapping

from app.mcp import jsonrpc
from app.mcp.protocol import HANDSHAKE, INVALID_PARAMS, VERSION_KEY, is_modern, meta_of, params_of
from store.typed import Json

HEADER_MISMATCH = -32020
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_OPENING, _CLOSING = "=?base64?", "?="
_VERSION = "mcp-protocol-version"


def is_stateless(headers: Mapping[str, str], message: Json) -> bool:
    """True if a request is of a revision without sessions; one that names none is not."""
    version = headers.get(_VERSION, "")
    return is_modern(message.get("params")) or (
        version > HANDSHAKE[-1] and "mcp-session-id" not in headers
    )


def header_error(headers: Mapping[str, str], message: Json) -> Json | None:
    """The error for headers that say otherwise than the body, None where they agree."""
    params, meta = params_of(message), meta_of(message)
    if VERSION_KEY not in meta:
        text = f"params._meta lacks {VERSION_KEY}"
        return jsonrpc.error(message["id"], INVALID_PARAMS, text)
    wanted = {_VERSION: meta[VERSION_KEY], "mcp-method": message["method"]}
    key = _NAMED.get(message["method"])
    if key is not None and params.get(key) is not None:
        wanted["mcp-name"] = params[key]
    for name, value in wanted.items():
        if _decoded(headers.get(name)) != value:
            text = f"The header {name} does not say what the body says."
            return jsonrpc.error(message["id"], HEADER_MISMATCH, text)
    return None


def _decoded(value: str | None) -> str | None:
    """A header's value; what is no ASCII comes as base64 in a frame."""
    if value is None or not (value.startswith(_OPENING) and value.endswith(_CLOSING)):
        return value
    try:
        return base64.b64decode(value[len(_OPENING) : -len(_CLOSING)], validate=True).decode()
    except (binascii.Error, ValueError):
        return None
