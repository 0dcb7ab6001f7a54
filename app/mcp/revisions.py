"""The stateless revision (2026-07-28) and the ones with a handshake: what differs."""

from app.mcp.protocol import (
    ENVELOPE,
    INVALID_PARAMS,
    LISTS,
    RESOURCE_NOT_FOUND,
    SERVER_INFO_KEY,
    SUBSCRIPTION_KEY,
    meta_of,
    params_of,
)
from store.typed import Json, object_or_empty

_CACHEABLE = frozenset({*LISTS, "resources/read", "server/discover"})


def completed(method: str, answer: Json) -> Json:
    """An answer with the fields that the stateless revision requires of every result."""
    result = answer.get("result")
    if not isinstance(result, dict):
        error = answer.get("error")
        if isinstance(error, dict) and error.get("code") == RESOURCE_NOT_FOUND:
            return {**answer, "error": {**error, "code": INVALID_PARAMS}}
        return answer
    more: Json = {}
    if "resultType" not in result:
        more["resultType"] = "complete"
    if method in _CACHEABLE and "ttlMs" not in result:
        more |= {"ttlMs": 0, "cacheScope": "private"}
    return {**answer, "result": {**result, **more}}


def server_info(discovered: Json) -> Json:
    """Name and version that a stateless server gives, {} when it gives none."""
    return object_or_empty(object_or_empty(discovered.get("_meta")).get(SERVER_INFO_KEY))


def without_envelope(message: Json) -> Json:
    """A stateless message as one of the earlier revisions: its envelope in _meta dropped."""
    params, meta = params_of(message), meta_of(message)
    if "_meta" not in params:
        return message
    kept = {k: v for k, v in meta.items() if k not in ENVELOPE and k != SUBSCRIPTION_KEY}
    rest = {k: v for k, v in params.items() if k != "_meta"}
    return {**message, "params": {**rest, **({"_meta": kept} if kept else {})}}
