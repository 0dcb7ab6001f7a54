"""Requests, answers and questions between one host and its servers, each answered once."""

import threading
from collections.abc import Callable
from functools import partial

from app.gateway.attribution import attributed, with_questions
from app.gateway.host_request import HostRequest, Key
from app.gateway.labels import Labels
from app.gateway.serving.host import Host
from app.gateway.serving.inputs import Inputs
from app.mcp import jsonrpc
from app.mcp.protocol import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    LEVELS,
    LOG_LEVEL_KEY,
    meta_of,
    params_of,
    text_result,
)
from app.mcp.requests import ServerRequest
from app.mcp.session import Upstream
from store.typed import Json

_OF_ONE_ROUND = ("requestState", "inputResponses")  # params of a request that is sent again


class Forwarder:
    """Sends the host's requests to its servers, and servers' requests to the host.

    Ids and progress tokens are the business of the host's side (`Host`) and of each server's
    (`Connection`).
    """

    def __init__(self, host: Host, labels: Labels) -> None:
        self._host = host
        self._labels = labels
        self.names_servers = False  # whether requests of servers name who asks
        self._under_way: dict[Key, HostRequest] = {}
        self._inputs = Inputs(host, self._close)

    # ---- host to server

    def wants_log(self, upstream: Upstream, level: object) -> bool:
        """True if a stateless host's request to this server asked for log messages like this."""
        least = LEVELS.index(level) if level in LEVELS else len(LEVELS)
        requests = [r.message for r in self._under_way.values() if r.upstream is upstream]
        wanted_levels = [meta_of(message).get(LOG_LEVEL_KEY) for message in requests]
        return any(one in LEVELS and LEVELS.index(one) <= least for one in wanted_levels)

    def forward(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a host's request on as it is; `line` is b"" when the message was rewritten."""
        self.send(HostRequest(upstream, line, message))

    def send(self, request: HostRequest, seconds: float = 0) -> None:
        """Send a host's request on; it fails when it takes more than `seconds`, 0 for any time."""
        request.forwarder = self
        request.seconds = seconds
        self._under_way[request.key] = request
        self._labels.expect(request.message.get("method"))
        request.prepare(partial(self._begin, request))

    def _begin(self, request: HostRequest) -> None:
        if not (request.is_withdrawn or request.settled):
            request.upstream.request(request)

    def answered(self, request: HostRequest, line: bytes, answer: Json) -> None:
        """A server has answered a host's request."""
        self._close(request)
        name = request.upstream.name
        result = answer.get("result")
        if isinstance(result, dict) and ("inputRequests" in result or "resultType" in result):
            if not request.is_refused and (
                asking := with_questions(answer, partial(self._labels.question, name))
            ):
                line, answer = b"", asking
            if self.names_servers and (named := with_questions(answer, partial(attributed, name))):
                line, answer = b"", named
            if self._wants_input(request, answer):
                self._gather(request, answer["result"])
                return
        changed = request.finish(line, answer)
        line, answer = (line, answer) if changed is None else (b"", changed)
        if not request.is_refused and (
            labelled := self._labels.result(name, request.message, answer)
        ):
            line, answer = b"", labelled
        if request.settled:
            return
        request.settled = True
        request.ending()
        if not self._inputs.hold(request, answer):
            self._host.respond(request.host_id, answer, line)
        request.done()

    def _wants_input(self, request: HostRequest, answer: Json) -> bool:
        """True if a stateless server wants input of a host that is asked by requests."""
        is_asking = answer["result"].get("resultType") == "input_required"
        return is_asking and request.upstream.modern and not self._host.is_modern(request.host_id)

    def failed(self, request: HostRequest, reason: str) -> None:
        """A host's request gets no answer from its server."""
        if request.settled:
            return
        request.settled = True
        self._close(request)
        request.unreached(reason)
        answer = _unreachable(request.message, reason)
        if not self._inputs.hold(request, answer):
            self._host.respond(request.host_id, answer)

    def _close(self, request: HostRequest) -> None:
        self._under_way.pop(request.key, None)

    def cancel(self, params: Json) -> None:
        """The host no longer wants an answer."""
        host_id = params.get("requestId")
        request = self._under_way.get((type(host_id), host_id))
        if request is not None:
            self._close(request)
            self._host.forget(host_id)
            request.is_withdrawn = True
            request.upstream.cancel(request, params)

    # ---- server to host

    def ask_host(self, upstream: Upstream, request: ServerRequest) -> None:
        """Send a server's request to the host, and the host's answer back."""
        message = self._labels.question(upstream.name, request.message)
        if self.names_servers:
            message = attributed(upstream.name, message)
        waiting = [r for r in self._under_way.values() if r.upstream is upstream]
        if self._inputs.require(request, message, waiting):
            return
        line = request.line if message is request.message else b""
        own_id = self._host.request(
            line, message, lambda line, answer: request.answer(answer, line), upstream.notify
        )
        request.withdrawn = partial(self._host.withdraw, own_id)

    def ask_user(
        self, request: HostRequest, question: str, answered: Callable[[str], None]
    ) -> None:
        """Ask the host's user about a call that was not sent yet; nothing if it is withdrawn.

        `answered` gets the form's action: accept, decline, cancel, or "" for an error.
        """
        schema = {"type": "object", "properties": {}}
        params = {"message": question, "requestedSchema": schema}
        message = jsonrpc.request("elicitation/create", params)

        def decided(answer: Json) -> None:
            result = answer.get("result")
            if not (request.is_withdrawn or request.settled):
                answered(str(result.get("action", "")) if isinstance(result, dict) else "")

        if self._host.is_modern(request.host_id):
            self._inputs.park(request, message, decided)
        else:
            self._host.request(b"", message, lambda _line, answer: decided(answer))

    def notify_host(self, line: bytes, message: Json) -> None:
        """Pass a notification on as it is."""
        self._host.send_line(line.strip() or jsonrpc.dump(message))

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
        request = parked.request
        if parked.answer is not None:
            self._host.respond(request.host_id, parked.answer)
        else:
            self._under_way[request.key] = request
            parked.deliver(message)
        return True

    def _gather(self, request: HostRequest, result: Json) -> None:
        """Ask a host of an earlier revision what a stateless server wants, then send again."""
        request.rounds += 1
        own_params = {k: v for k, v in params_of(request.message).items() if k not in _OF_ONE_ROUND}
        more: Json = {k: result[k] for k in ("requestState",) if k in result}

        def again(responses: Json | None, problem: Json | None) -> None:
            if problem is not None:
                self._host.respond(request.host_id, problem)
                return
            params = {**own_params, **more, **({"inputResponses": responses} if responses else {})}
            request.line, request.message = b"", {**request.message, "params": params}
            self._under_way[request.key] = request
            request.upstream.request(request)

        if request.rounds > 10:
            text = f"{request.upstream.name} asked for input more than ten times."
            self._host.respond(request.host_id, _unreachable(request.message, text))
        elif result.get("inputRequests"):
            self._inputs.gather(result["inputRequests"], again)
        else:
            timer = threading.Timer(0.05 * request.rounds, again, (None, None))
            timer.daemon = True
            timer.start()


def _unreachable(message: Json, reason: str) -> Json:
    """The answer when a server cannot be reached: a tool result for the model, else an error."""
    if message.get("method") == "tools/call":
        return jsonrpc.result(message["id"], text_result(reason, is_error=True))
    return jsonrpc.error(message["id"], CONNECTION_CLOSED, reason)
