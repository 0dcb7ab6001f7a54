"""Requests of servers under their names: behind one entry, a host cannot tell who asks."""

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
    params = request["params"]
    own = params.get(place)
    return {
        **request,
        "params": {**params, place: (text + (own if isinstance(own, str) else "")).strip()},
    }


def attributed(server: str, request: Json) -> Json:
    """An elicitation or sampling request that names its server in its text and in _meta."""
    place, prefix = _TEXTS.get(str(request.get("method")), ("", ""))
    if not place:
        return request
    params = request.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    text = params.get(place)
    additions = {
        place: (prefix.format(server) + (text if isinstance(text, str) else "")).strip(),
        "_meta": {**(meta if isinstance(meta, dict) else {}), SERVER_KEY: server},
    }
    return {**request, "params": {**params, **additions}}


def attributed_result(server: str, answer: Json) -> Json | None:
    """A result that asks for input (2026-07-28) likewise; None where it asks for nothing."""
    result = answer.get("result")
    requests = result.get("inputRequests") if isinstance(result, dict) else None
    if not isinstance(requests, dict) or not isinstance(result, dict):
        return None
    named = {
        key: attributed(server, request) if isinstance(request, dict) else request
        for key, request in requests.items()
    }
    return {**answer, "result": {**result, "inputRequests": named}}
