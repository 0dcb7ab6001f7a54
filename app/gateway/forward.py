"""The message router: requests, answers and notifications between one host and its servers."""

import threading

from app.gateway import wire
from app.gateway.exchange import Exchange
from app.gateway.host import Host
from app.gateway.inputs import Inputs, Parked
from app.gateway.protocol import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    LEVELS,
    LOG_LEVEL_KEY,
    Json,
    params_of,
    text_result,
)
from app.gateway.upstream import Upstream
from store.typed import Any

Key = tuple[type, Any]
_OF_ONE_ROUND = ("requestState", "inputResponses")  # params of a request that is sent again


class Route(Exchange):
    """A request of the host on its way to a server; its kinds look at what comes of it."""

    __slots__ = ("forwarder", "host_id", "rounds", "upstream")

    forwarder: "Forwarder"  # from when it is sent

    def __init__(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """`line` is b"" when the message was rewritten."""
        super().__init__(line, message)
        self.upstream = upstream
        self.host_id = message["id"]
        self.rounds = 0

    @property
    def key(self) -> Key:
        """The host's id; 1 and "1" are two."""
        return type(self.host_id), self.host_id

    def answered(self, line: bytes, answer: Json) -> None:
        """Answer the host."""
        self.forwarder.answered(self, line, answer)

    def failed(self, reason: str) -> None:
        """Tell the host why there is no answer."""
        self.forwarder.failed(self, reason)

    # ---- what kinds of requests may add

    def finish(self, line: bytes, answer: Json) -> Json | None:
        """Another answer to give; None leaves the server's as it came."""

    def done(self) -> None:
        """The host has been answered."""

    def unreached(self, reason: str) -> None:
        """There will be no answer of the server."""


class Forwarder:
    """Maps ids and progress tokens both ways; every request of the host is answered once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._routes: dict[Key, Route] = {}
        self._tokens: dict[Key, Upstream] = {}  # the host's progress tokens
        self._server_tokens: dict[str, tuple[Upstream, Any]] = {}  # ours -> a server's own
        self._asked: dict[tuple[str, type, Any], str] = {}  # a server's request -> id at the host
        self._inputs = Inputs(host)
        self._count = 0

    # ---- host to server

    def wants_log(self, upstream: Upstream, level: object) -> bool:
        """Whether a stateless host's request to this server asked for log messages like this."""
        found = LEVELS.index(level) if level in LEVELS else len(LEVELS)
        asked = [_log_level(r.message) for r in self._routes.values() if r.upstream is upstream]
        return any(one in LEVELS and LEVELS.index(one) <= found for one in asked)

    def forward(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a host's request on as it is; `line` is b"" when the message was rewritten."""
        self.send(Route(upstream, line, message))

    def send(self, route: Route, seconds: float = 0) -> None:
        """Send a host's request on; it fails when it takes more than `seconds`, 0 for any time."""
        route.forwarder = self
        self._routes[route.key] = route
        self._request(route)
        if seconds > 0:
            timer = threading.Timer(seconds, self._too_late, (route, seconds))
            timer.daemon = True
            timer.start()

    def _too_late(self, route: Route, seconds: float) -> None:
        if self._routes.get(route.key) is route:
            self._close(route)
            route.upstream.cancel(route, {"reason": "It took too long."})
            self.failed(route, f"{route.upstream.name} did not answer within {seconds:g} s.")

    def _request(self, route: Route) -> None:
        if route.progress is not None:
            self._tokens[type(route.progress), route.progress] = route.upstream
        route.upstream.request(route)

    def answered(self, route: Route, line: bytes, answer: Json) -> None:
        """A server has answered a host's request."""
        self._close(route)
        if route.upstream.modern and not self._host.is_modern(route.host_id):
            result = answer.get("result")
            if isinstance(result, dict) and result.get("resultType") == "input_required":
                self._gather(route, result)
                return
        changed = route.finish(line, answer)
        line, answer = (line, answer) if changed is None else (b"", changed)
        if not self._inputs.hold(route, answer):
            self._host.respond(route.host_id, answer, line)
        route.done()

    def failed(self, route: Route, reason: str) -> None:
        """A host's request gets no answer from its server."""
        self._close(route)
        route.unreached(reason)
        answer = _unreachable(route.message, reason)
        if not self._inputs.hold(route, answer):
            self._host.respond(route.host_id, answer)

    def _close(self, route: Route) -> None:
        self._routes.pop(route.key, None)
        token = route.progress
        if token is not None:
            self._tokens.pop((type(token), token), None)

    def cancel(self, params: Json) -> None:
        """The host no longer wants an answer."""
        host_id = params.get("requestId")
        route = self._routes.get((type(host_id), host_id))
        if route is not None:
            self._close(route)
            self._host.forget(host_id)
            route.upstream.cancel(route, params)

    def progress_of_host(self, message: Json) -> None:
        """The host reports progress on something that a server asked of it."""
        params = message.get("params") or {}
        found = self._server_tokens.get(str(params.get("progressToken")))
        if found is not None:
            upstream, token = found
            told = {**message, "params": {**params, "progressToken": token}}
            upstream.notify(told)

    # ---- server to host

    def ask_host(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a server's request to the host, and the host's answer back."""
        waiting = [r for r in self._routes.values() if r.upstream is upstream]
        if self._inputs.ask(upstream, message, waiting):
            return
        server_id = message["id"]
        key = (upstream.name, type(server_id), server_id)
        own_token, line, asked = self._with_own_token(upstream, line, message)

        def answered(answer_line: bytes, answer: Json) -> None:
            self._asked.pop(key, None)
            if own_token:
                self._server_tokens.pop(own_token, None)
            upstream.notify(answer, wire.with_id(answer_line, answer, server_id))

        self._asked[key] = self._host.ask(line, asked, answered)

    def _with_own_token(
        self, upstream: Upstream, line: bytes, message: Json
    ) -> tuple[str, bytes, Json]:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if params is None or not isinstance(meta, dict) or "progressToken" not in meta:
            return "", line, message
        self._count += 1
        token = f"toolcrib-{self._count}"
        self._server_tokens[token] = (upstream, meta["progressToken"])
        changed = {**params, "_meta": {**meta, "progressToken": token}}
        return token, b"", {**message, "params": changed}

    def cancelled_by_server(self, upstream: Upstream, params: Json) -> None:
        """A server no longer wants the host's answer."""
        server_id = params.get("requestId")
        own_id = self._asked.pop((upstream.name, type(server_id), server_id), None)
        if own_id is not None:
            self._host.withdraw(own_id, str(params.get("reason", "")))

    def progress_of_server(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Pass progress on, if it belongs to a request that this server is working on."""
        token = (message.get("params") or {}).get("progressToken")
        if isinstance(token, str | int) and self._tokens.get((type(token), token)) is upstream:
            self.notify_host(line, message)

    def notify_host(self, line: bytes, message: Json) -> None:
        """Pass a notification on as it is."""
        self._host.send_line(line.strip() or wire.dump(message))

    def server_gone(self, upstream: Upstream) -> None:
        """Withdraw what a server that is gone had asked of the host."""
        for key in [k for k in self._asked if k[0] == upstream.name]:
            own_id = self._asked.pop(key, None)
            if own_id is not None:
                self._host.withdraw(own_id, "The server that asked has stopped.")

    # ---- input that a stateless server or host exchanges in results

    def resume(self, message: Json) -> bool:
        """Take up a request that a stateless host sends again with the input asked for."""
        parked = self._inputs.take(message)
        if parked is None:
            if not self._inputs.made(message):
                return False
            text = "This requestState is not known; send the request anew."
            refusal = wire.error(message["id"], INVALID_PARAMS, text)
            self._host.respond(message["id"], refusal)
            return True
        route: Route = parked.route
        route.host_id = message["id"]
        if parked.answer is not None:
            self._host.respond(route.host_id, parked.answer)
        else:
            self._routes[route.key] = route
            _deliver(parked, message)
        return True

    def _gather(self, route: Route, result: Json) -> None:
        """Ask a host of an earlier revision what a stateless server wants, then send again."""
        route.rounds += 1
        asked = {k: v for k, v in params_of(route.message).items() if k not in _OF_ONE_ROUND}
        more: Json = {k: result[k] for k in ("requestState",) if k in result}

        def again(responses: Json | None, problem: Json | None) -> None:
            if problem is not None:
                self._host.respond(route.host_id, problem)
                return
            params = {**asked, **more, **({"inputResponses": responses} if responses else {})}
            route.line, route.message = b"", {**route.message, "params": params}
            self._routes[route.key] = route
            self._request(route)

        if route.rounds > 10:
            text = f"{route.upstream.name} asked for input more than ten times."
            self._host.respond(route.host_id, _unreachable(route.message, text))
        elif result.get("inputRequests"):
            self._inputs.gather(result["inputRequests"], again)
        else:
            timer = threading.Timer(0.05 * route.rounds, again, (None, None))
            timer.daemon = True
            timer.start()


def _deliver(parked: Parked, message: Json) -> None:
    """Give a server of an earlier revision the answers to what it asked."""
    responses = (message.get("params") or {}).get("inputResponses") or {}
    for key, server_id in parked.asked.items():
        found = responses.get(key)
        if isinstance(found, dict):
            parked.upstream.notify(wire.result(server_id, found))
        else:
            parked.upstream.notify(wire.error(server_id, -1, "The host gave no answer."))


def _log_level(message: Json) -> str:
    meta = (message.get("params") or {}).get("_meta")
    return str(meta.get(LOG_LEVEL_KEY, "")) if isinstance(meta, dict) else ""


def _unreachable(message: Json, reason: str) -> Json:
    """The answer when a server cannot be reached: a tool result for the model, else an error."""
    if message.get("method") == "tools/call":
        return wire.result(message["id"], text_result(reason, is_error=True))
    return wire.error(message["id"], CONNECTION_CLOSED, reason)
