"""Requests of servers under their names: behind one entry, a host cannot tell who asks."""

from collections.abc import Callable

from app.mcp.protocol import meta_of, params_of
from store.typed import Json

SERVER_KEY = "toolcrib/server"  # in _meta of a request
_TEXTS = {  # of requests: the field of their text, and a prefix that names the server
    "elicitation/create": ("message", "The server {} asks: "),
    "sampling/createMessage": ("systemPrompt", "The server {} asks for this.\n"),
}
QUESTIONS = tuple(_TEXTS)


def prefixed(request: Json, text: str) -> Json:
    """An elicitation or sampling request with a text before its own."""
    place, _ = _TEXTS[str(request["method"])]
    params = params_of(request)
    own = params.get(place)
    whole = (text + (own if isinstance(own, str) else "")).strip()
    return {**request, "params": {**params, place: whole}}


def attributed(server: str, request: Json) -> Json:
    """An elicitation or sampling request that names its server in its text and in _meta."""
    if request.get("method") not in QUESTIONS:
        return request
    _, prefix = _TEXTS[request["method"]]
    params = prefixed(request, prefix.format(server))["params"]
    named = {**meta_of(request), SERVER_KEY: server}
    return {**request, "params": {**params, "_meta": named}}


def with_questions(answer: Json, change: Callable[[Json], Json]) -> Json | None:
    """A result that asks for input (2026-07-28) with what it asks changed; None where none is."""
    result = answer.get("result")
    requests = result.get("inputRequests") if isinstance(result, dict) else None
    if not isinstance(requests, dict) or not isinstance(result, dict):
        return None
    changed = {
        key: change(request) if isinstance(request, dict) else request
        for key, request in requests.items()
    }
    if changed == requests:
        return None
    return {**answer, "result": {**result, "inputRequests": changed}}
