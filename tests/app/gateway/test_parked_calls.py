"""Calls of a stateless host that wait for input: the oldest of too many is given up."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from app.gateway.host_request import HostRequest
from app.gateway.serving import inputs
from app.gateway.serving.host import Host
from app.gateway.serving.inputs import Inputs
from app.mcp import jsonrpc
from app.mcp.session import Upstream

QUESTION = {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {}}


class Sent:
    """A host at a pipe."""

    def __init__(self) -> None:
        self._out, end = os.pipe()
        self.host = Host(end)
        self._end = end

    def lines(self) -> list[dict[str, Any]]:
        """Everything that was written to it; nothing can be written afterwards."""
        os.close(self._end)
        with os.fdopen(self._out, "rb") as file:
            return [json.loads(line) for line in file]


@pytest.fixture
def sent() -> Iterator[Sent]:
    yield Sent()


def call(number: int) -> HostRequest:
    def launch() -> Any:
        raise AssertionError("it is not started")

    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "t"}}
    return HostRequest(Upstream("probe", launch, None), b"", message)  # type: ignore[arg-type]


def test_the_question_of_a_call_that_is_given_up_is_answered(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_MOST_PARKED", 2)
    parking, answers = Inputs(sent.host, lambda _call: None), []
    calls = [call(number) for number in range(3)]
    for one in calls:
        own = one.host_id
        parking.park(one, QUESTION, lambda answer, own=own: answers.append((own, answer)))
    ((own, answer),) = answers
    assert own == 0 and answer["error"]["message"] == "The host gave no answer."
    # what the server says to that finds no request of the host's that it could answer
    assert all(parking.hold(one, jsonrpc.result(0, {})) for one in calls)
    states = [line["result"]["requestState"] for line in sent.lines()]
    again = [{"id": 10 + n, "params": {"requestState": s}} for n, s in enumerate(states)]
    taken = [parking.take(message) for message in again]
    assert taken[0] is None and calls[0].host_id is None
    for parked, one, number in zip(taken[1:], calls[1:], (11, 12), strict=True):
        assert parked is not None and parked.answer is not None and one.host_id == number
