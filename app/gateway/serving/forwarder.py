"""The message router: requests, answers and notifications between one host and its servers."""

import threading
from collections.abc import Callable

from app.gateway.attribution import attributed, attributed_result
from app.gateway.host_request import HostRequest, Key
from app.gateway.labels import Labels
from app.gateway.serving.host import Host
from app.gateway.serving.inputs import Inputs, Parked
from app.mcp import jsonrpc
from app.mcp.protocol import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    LEVELS,
    LOG_LEVEL_KEY,
    params_of,
    text_result,
)
from app.mcp.session import Upstream
from store.typed import Any, Json

_OF_ONE_ROUND = ("requestState", "inputResponses")  # params of a request that is sent again


class Forwarder:
    """Maps ids and progress tokens both ways; every request of the host is answered once."""

    def __init__(self, host: Host, labels: Labels) -> None:
        self._host = host
        self._labels = labels
        self.names_servers = False  # whether requests of servers name who asks
        self._routes: dict[Key, HostRequest] = {}
        self._tokens: dict[Key, Upstream] = {}  # the host's progress tokens
        self._server_tokens: dict[str, tuple[Upstream, Any]] = {}  # ours -> a server's own
        self._open_requests: dict[
            tuple[str, type, Any], str
        ] = {}  # a server's request -> id at the host
        self._inputs = Inputs(host)
        self._count = 0

    # ---- host to server

    def wants_log(self, upstream: Upstream, level: object) -> bool:
        """True if a stateless host's request to this server asked for log messages like this."""
        least = LEVELS.index(level) if level in LEVELS else len(LEVELS)
        wanted_levels = [
            _log_level(r.message) for r in self._routes.values() if r.upstream is upstream
        ]
        return any(one in LEVELS and LEVELS.index(one) <= least for one in wanted_levels)

    def forward(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a host's request on as it is; `line` is b"" when the message was rewritten."""
        self.send(HostRequest(upstream, line, message))

    def send(self, route: HostRequest, seconds: float = 0) -> None:
        """Send a host's request on; it fails when it takes more than `seconds`, 0 for any time."""
        route.forwarder = self
        route.seconds = seconds
        self._routes[route.key] = route
        self._labels.expect(route.message.get("method"))
        route.prepare(lambda: self._begin(route))

    def _begin(self, route: HostRequest) -> None:
        if self._routes.get(route.key) is route:  # not withdrawn in the meantime
            self._request(route)

    def _request(self, route: HostRequest) -> None:
        if route.progress is not None:
            self._tokens[type(route.progress), route.progress] = route.upstream
        route.upstream.request(route)

    def answered(self, route: HostRequest, line: bytes, answer: Json) -> None:
        """A server has answered a host's request."""
        self._close(route)
        name = route.upstream.name
        if not route.is_refused and (asking := self._labels.questions(name, answer)):
            line, answer = b"", asking
        if self.names_servers and (named := attributed_result(name, answer)):
            line, answer = b"", named
        if route.upstream.modern and not self._host.is_modern(route.host_id):
            result = answer.get("result")
            if isinstance(result, dict) and result.get("resultType") == "input_required":
                self._gather(route, result)
                return
        changed = route.finish(line, answer)
        line, answer = (line, answer) if changed is None else (b"", changed)
        if not route.is_refused and (labelled := self._labels.result(name, route.message, answer)):
            line, answer = b"", labelled
        if route.settled:
            return
        route.settled = True
        route.ending()
        if not self._inputs.hold(route, answer):
            self._host.respond(route.host_id, answer, line)
        route.done()

    def failed(self, route: HostRequest, reason: str) -> None:
        """A host's request gets no answer from its server."""
        if route.settled:
            return
        route.settled = True
        self._close(route)
        route.unreached(reason)
        answer = _unreachable(route.message, reason)
        if not self._inputs.hold(route, answer):
            self._host.respond(route.host_id, answer)

    def _close(self, route: HostRequest) -> None:
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
            route.is_withdrawn = True
            route.upstream.cancel(route, params)

    def progress_of_host(self, message: Json) -> None:
        """The host reports progress on something that a server asked of it."""
        params = params_of(message)
        origin = self._server_tokens.get(str(params.get("progressToken")))
        if origin is not None:
            upstream, token = origin
            upstream.notify({**message, "params": {**params, "progressToken": token}})

    # ---- server to host

    def ask_host(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a server's request to the host, and the host's answer back."""
        labelled = self._labels.question(upstream.name, message)
        line = line if labelled is message else b""
        message = labelled
        if self.names_servers:
            line, message = b"", attributed(upstream.name, message)
        waiting = [r for r in self._routes.values() if r.upstream is upstream]
        if self._inputs.require(upstream, message, waiting):
            return
        server_id = message["id"]
        key = (upstream.name, type(server_id), server_id)
        own_token, line, request = self._with_own_token(upstream, line, message)

        def answered(answer_line: bytes, answer: Json) -> None:
            self._open_requests.pop(key, None)
            if own_token:
                self._server_tokens.pop(own_token, None)
            upstream.notify(answer, jsonrpc.with_id(answer_line, answer, server_id))

        self._open_requests[key] = self._host.request(line, request, answered)

    def ask_user(self, route: HostRequest, question: str, answered: Callable[[str], None]) -> None:
        """Ask the host's user about a call that was not sent yet; nothing if it is withdrawn.

        `answered` gets the form's action: accept, decline, cancel, or "" for an error.
        """
        schema = {"type": "object", "properties": {}}
        params = {"message": question, "requestedSchema": schema}
        message: Json = {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create"}
        message["params"] = params

        def decided(answer: Json) -> None:
            result = answer.get("result")
            if self._routes.get(route.key) is route:
                answered(str(result.get("action", "")) if isinstance(result, dict) else "")

        if self._host.is_modern(route.host_id):
            self._inputs.park(route, message, decided)
        else:
            self._host.request(b"", message, lambda _line, answer: decided(answer))

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
        own_id = self._open_requests.pop((upstream.name, type(server_id), server_id), None)
        if own_id is not None:
            self._host.withdraw(own_id, str(params.get("reason", "")))

    def progress_of_server(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Pass progress on, if it belongs to a request that this server is working on."""
        token = params_of(message).get("progressToken")
        if isinstance(token, str | int) and self._tokens.get((type(token), token)) is upstream:
            self.notify_host(line, message)

    def notify_host(self, line: bytes, message: Json) -> None:
        """Pass a notification on as it is."""
        self._host.send_line(line.strip() or jsonrpc.dump(message))

    def server_gone(self, upstream: Upstream) -> None:
        """Withdraw what a server that is gone had asked of the host."""
        for key in [k for k in self._open_requests if k[0] == upstream.name]:
            own_id = self._open_requests.pop(key, None)
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
            refusal = jsonrpc.error(message["id"], INVALID_PARAMS, text)
            self._host.respond(message["id"], refusal)
            return True
        route: HostRequest = parked.route
        route.host_id = message["id"]
        if parked.answer is not None:
            self._host.respond(route.host_id, parked.answer)
        else:
            self._routes[route.key] = route
            _deliver(parked, message)
        return True

    def _gather(self, route: HostRequest, result: Json) -> None:
        """Ask a host of an earlier revision what a stateless server wants, then send again."""
        route.rounds += 1
        own_params = {k: v for k, v in params_of(route.message).items() if k not in _OF_ONE_ROUND}
        more: Json = {k: result[k] for k in ("requestState",) if k in result}

        def again(responses: Json | None, problem: Json | None) -> None:
            if problem is not None:
                self._host.respond(route.host_id, problem)
                return
            params = {**own_params, **more, **({"inputResponses": responses} if responses else {})}
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
    responses = params_of(message).get("inputResponses")
    for key, server_id in parked.server_ids.items():
        response = responses.get(key) if isinstance(responses, dict) else None
        if isinstance(response, dict):
            parked.deliver(jsonrpc.result(server_id, response))
        else:
            parked.deliver(jsonrpc.error(server_id, -1, "The host gave no answer."))


def _log_level(message: Json) -> str:
    meta = params_of(message).get("_meta")
    return str(meta.get(LOG_LEVEL_KEY, "")) if isinstance(meta, dict) else ""


def _unreachable(message: Json, reason: str) -> Json:
    """The answer when a server cannot be reached: a tool result for the model, else an error."""
    if message.get("method") == "tools/call":
        return jsonrpc.result(message["id"], text_result(reason, is_error=True))
    return jsonrpc.error(message["id"], CONNECTION_CLOSED, reason)
