"""Input that servers want during a call: requests before 2026-07-28, results from then on."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

from app.gateway.host_request import HostRequest
from app.gateway.serving.host import Host
from app.mcp import jsonrpc
from app.mcp.protocol import CAPABILITIES_KEY, METHOD_NOT_FOUND, meta_of, params_of
from app.mcp.requests import ServerRequest
from store.typed import Json, object_or_empty

_OWN_STATE = "toolcrib:"  # how a requestState of ours begins
_MOST_PARKED = 64  # calls whose host never came back with an answer; the oldest is given up


_NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


class Parked:
    """A call that waits for a stateless host to come back with input."""

    __slots__ = ("_deliver", "_key", "answer", "request")

    def __init__(self, request: HostRequest, key: str, deliver: Callable[[Json], None]) -> None:
        """`key` is the question's in the host's answers, of which `deliver` takes that one."""
        self.request = request
        self._key = key
        self._deliver = deliver
        self.answer: Json | None = None  # an answer while no request of the host was open

    def deliver(self, message: Json) -> None:
        """Hand on the answer that the host's repeated request brings along."""
        responses = params_of(message).get("inputResponses")
        response = responses.get(self._key) if isinstance(responses, dict) else None
        if isinstance(response, dict):
            self._deliver(jsonrpc.result(0, response))
        else:
            self._deliver(jsonrpc.error(0, -1, "The host gave no answer."))


class Inputs:
    """Both directions of the difference between the eras."""

    def __init__(self, host: Host, close: Callable[[HostRequest], None]) -> None:
        """`close` is called with a call whose id is answered by a question."""
        self._host, self._close = host, close
        self._parked: OrderedDict[str, Parked] = OrderedDict()
        self._lock = threading.Lock()

    # ---- a stateless host, a server that asks by requests

    def require(
        self, request: ServerRequest, message: Json, requests: Sequence[HostRequest]
    ) -> bool:
        """Answer the host's call with what the server wants; whether that was the way.

        A server does not say for which call it asks, so the latest one is taken. `message` is
        what it asks, as the host gets it.
        """
        if request.method not in _NEEDED or not self._host.modern:
            return False
        needed = _NEEDED[request.method]
        waiting = [r for r in requests if self._host.is_modern(r.host_id) and _able(r, needed)]
        if waiting:
            self.park(waiting[-1], message, request.answer)
        else:  # a stateless host gets no requests
            request.refuse(METHOD_NOT_FOUND, "The host cannot be asked this now.")
        return True

    def park(self, request: HostRequest, message: Json, deliver: Callable[[Json], None]) -> None:
        """Answer a stateless host's call with a question, and keep the call until it comes back."""
        state = _OWN_STATE + os.urandom(12).hex()
        key = f"{message['method']}-1"
        given_up: Parked | None = None
        with self._lock:
            self._parked[state] = Parked(request, key, deliver)
            if len(self._parked) > _MOST_PARKED:
                _, given_up = self._parked.popitem(last=False)
        question = {"method": message["method"], "params": params_of(message)}
        result = {
            "resultType": "input_required",
            "inputRequests": {key: question},
            "requestState": state,
        }
        self._close(request)  # its id is answered now
        host_id, request.host_id = request.host_id, None
        self._host.respond(host_id, jsonrpc.result(host_id, result))
        if given_up is not None:
            given_up.deliver({})

    def hold(self, request: HostRequest, answer: Json) -> bool:
        """Keep an answer for a call that is parked, drop that of one that was given up.

        False for any other call: its host waits.
        """
        if request.host_id is not None and not self._parked:
            return False
        with self._lock:
            for parked in self._parked.values():
                if parked.request is request:
                    parked.answer = answer
                    return True
            return request.host_id is None

    @staticmethod
    def made(message: Json) -> bool:
        """True if a request carries a state of ours, perhaps changed or too old."""
        state = params_of(message).get("requestState")
        return isinstance(state, str) and state.startswith(_OWN_STATE)

    def take(self, message: Json) -> Parked | None:
        """The parked call that a request continues under its id, or None."""
        state = params_of(message).get("requestState")
        with self._lock:
            parked = self._parked.pop(state, None) if isinstance(state, str) else None
            if parked is not None:
                parked.request.host_id = message["id"]
            return parked

    # ---- a stateless server, a host that is asked by requests

    def gather(self, requests: object, done: Callable[[Json | None, Json | None], None]) -> None:
        """Ask the host everything at once; `done` gets the answers, or the first refusal."""
        wanted = object_or_empty(requests)
        wanted = {key: item for key, item in wanted.items() if isinstance(item, dict)}
        if not wanted:
            done(None, None)
            return
        responses: Json = {}
        refused: list[Json] = []
        lock = threading.Lock()

        def one(key: str, _line: bytes, answer: Json) -> None:
            with lock:
                if "result" in answer:
                    responses[key] = answer["result"]
                else:
                    responses[key] = None
                    refused.append(answer)
                complete = len(responses) == len(wanted)
            if complete:
                done(responses, refused[0] if refused else None)

        for key, item in wanted.items():
            question = jsonrpc.request(str(item.get("method", "")), item.get("params") or {}, key)
            self._host.request(b"", question, partial(one, key))


def _able(request: HostRequest, capability: str) -> bool:
    """True if the host declared a capability in this request."""
    able = meta_of(request.message).get(CAPABILITIES_KEY)
    return isinstance(able, dict) and capability in able
