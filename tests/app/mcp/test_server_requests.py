"""A server's own requests: answered once under the server's id, or withdrawn."""

import json

import pytest

from app.mcp import limits
from app.mcp.connection import Connection
from app.mcp.requests import PendingRequest, ServerRequest


class Lines:
    """A channel in memory; what is sent stays in `sent`."""

    fault = False
    junk_lines = 0

    def __init__(self):
        self.sent = []

    def open(self, on_line, on_end):
        self.hear = lambda message: on_line(json.dumps(message).encode() + b"\n")
        self.end = on_end

    def send(self, line):
        self.sent.append(json.loads(line))

    def progress(self):
        return 0.0

    def close(self, grace):
        pass


class Call(PendingRequest):
    """A request that writes down its progress."""

    def __init__(self, token):
        params = {"name": "t", "_meta": {"progressToken": token}}
        super().__init__(b"", {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params})
        self.steps = []

    def progressed(self, _line, message):
        self.steps.append(message["params"]["progress"])


@pytest.fixture
def lines():
    return Lines()


@pytest.fixture
def asked():
    return []


@pytest.fixture
def connection(lines, asked):
    made = Connection(
        lines,
        on_request=lambda _connection, request: asked.append(request),
        on_end=lambda _connection, _pending: None,
        envelope=dict,
    )
    made.open()
    return made


def roots(number):
    return {"jsonrpc": "2.0", "id": number, "method": "roots/list"}


ANSWER = {"jsonrpc": "2.0", "id": "ours", "result": {"roots": []}}


@pytest.mark.usefixtures("connection")
def test_a_ping_is_answered_without_asking_anybody(lines, asked):
    lines.hear({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    assert lines.sent == [{"jsonrpc": "2.0", "id": "p", "result": {}}] and not asked


@pytest.mark.usefixtures("connection")
def test_the_first_answer_goes_out_under_the_servers_id(lines, asked):
    lines.hear(roots(7))
    asked[0].answer(ANSWER)
    asked[0].answer(ANSWER)
    assert lines.sent == [{**ANSWER, "id": 7}]


@pytest.mark.usefixtures("connection")
def test_a_withdrawn_request_gets_no_answer(lines, asked):
    lines.hear(roots(7))
    reasons = []
    asked[0].withdrawn = reasons.append
    params = {"requestId": 7, "reason": "no need"}
    lines.hear({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    asked[0].answer(ANSWER)
    assert reasons == ["no need"] and lines.sent == []


@pytest.mark.usefixtures("connection")
def test_a_server_that_goes_withdraws_what_it_asked(lines, asked):
    lines.hear(roots(7))
    lines.hear(roots("7"))
    reasons = []
    asked[0].withdrawn = asked[1].withdrawn = reasons.append
    lines.end("exited")
    assert reasons == ["The server that asked has stopped."] * 2
    asked[0].answer(ANSWER)
    assert lines.sent == []  # the next start of the server has ids of its own


def test_a_server_that_is_ended_since_it_is_idle_withdraws_what_it_asked(connection, lines, asked):
    lines.hear(roots(7))
    reasons = []
    asked[0].withdrawn = reasons.append
    assert connection.rest(0.0, 0.0)
    assert reasons == ["The server that asked has stopped."]
    asked[0].answer(ANSWER)
    lines.hear(roots(8))  # on its way by then
    assert lines.sent == [] and len(asked) == 1


@pytest.mark.usefixtures("connection")
def test_a_flood_of_requests_is_refused(lines, asked, monkeypatch):
    monkeypatch.setattr(limits, "EXTRAS", 2)
    for number in range(3):
        lines.hear(roots(number))
    assert [request.message["id"] for request in asked] == [0, 1]
    assert lines.sent[0]["id"] == 2 and "Too many requests" in lines.sent[0]["error"]["message"]


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_request_that_breaks_here_is_answered_once_and_waits_for_nobody(is_answered):
    def broken(_connection, request):
        if is_answered:
            request.answer(ANSWER)
        raise ValueError("odd")

    clock, lines = [0.0], Lines()
    made = Connection(
        lines,
        on_request=broken,
        on_end=lambda _connection, _pending: None,
        envelope=dict,
        clock=lambda: clock[0],
    )
    made.open()
    call = Call("a")
    made.request(call)
    lines.hear(roots(7))
    (answer,) = (sent for sent in lines.sent if sent["id"] == 7)
    assert is_answered is ("error" not in answer)
    clock[0] += limits.SILENT_CALL  # in which it used no CPU either
    assert made.overdue() == [call]


def test_progress_reaches_its_request_alone_and_only_while_it_waits(connection, lines):
    calls = [Call("a"), Call(1), Call("1")]
    for call in calls:
        connection.request(call)

    def report(token, progress):
        params = {"progressToken": token, "progress": progress}
        lines.hear({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    report("a", 1)
    report(1, 2)
    report("1", 3)
    report("other", 4)
    connection.cancel(calls[0], {})
    report("a", 5)
    assert [call.steps for call in calls] == [[1], [2], [3]]


def test_a_refusal_names_its_code():
    sent = []
    request = ServerRequest(b"", roots(7), lambda _request, _line, answer: sent.append(answer))
    request.refuse(-32601, "Not here.")
    assert sent[0]["error"] == {"code": -32601, "message": "Not here."}
