"""No call waits for ever, whatever its server sends or does not send."""

import math

import pytest

from app.mcp import limits
from app.mcp.patience import Patience
from app.mcp.requests import OwnRequest


class Times:
    """A clock and a server's CPU seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cpu = 0.0
        self.asks = False  # whether the server waits for an answer of the host
        self.patience = Patience(lambda: self.now, lambda: self.cpu, lambda: self.asks)
        self.pending: list[OwnRequest] = []

    def begin(self, method: str = "tools/call", seconds: float = 0) -> OwnRequest:
        request = OwnRequest({"id": 1, "method": method}, seconds=seconds)
        self.patience.begin(request)
        self.pending.append(request)
        return request

    def passes(self, seconds: float, *, cpu: float = 0, heard: bool = False) -> list[OwnRequest]:
        """Second by second, as the gateway looks; what is overdue at the end."""
        late: list[OwnRequest] = []
        for _ in range(round(seconds / 10)):
            self.now += 10
            self.cpu += cpu * 10
            if heard:
                self.patience.restart()
            late = self.patience.overdue([r for r in self.pending if r not in late])
            if late:
                break
        return late


@pytest.fixture
def times() -> Times:
    return Times()


def test_a_server_without_sign_of_life_is_given_up_after_ten_minutes(times: Times) -> None:
    call = times.begin()
    assert times.passes(590) == []
    assert times.passes(20) == [call]
    assert call.overdue == "has sent nothing for 10 minutes"


def test_a_server_that_works_or_talks_has_an_hour(times: Times) -> None:
    call = times.begin()
    assert times.passes(1_800, cpu=0.5) == []
    assert times.passes(1_700, heard=True) == []
    assert times.passes(200, heard=True) == [call]
    assert call.overdue == "did not answer within 60 minutes"


def test_a_limit_of_the_user_stands(times: Times) -> None:
    call = times.begin(seconds=7_200)
    assert times.passes(7_100) == []
    assert times.passes(200) == [call]


def test_a_call_after_a_long_rest_has_its_whole_time(times: Times) -> None:
    times.passes(5_000)
    call = times.begin()
    assert times.passes(590) == []
    assert times.passes(30) == [call]


def test_a_server_that_waits_for_a_person_is_not_silent(times: Times) -> None:
    call = times.begin()
    times.asks = True
    assert times.passes(1_500) == []
    times.asks = False
    times.patience.restart()
    assert times.passes(500) == []
    assert times.passes(200) == [call]


def test_a_stream_of_news_is_never_overdue(times: Times) -> None:
    stream = times.begin("subscriptions/listen")
    assert times.passes(10_000) == [] and stream.deadline == math.inf


def test_an_answer_to_nobody_ends_several_that_wait_within_a_minute(times: Times) -> None:
    times.begin("subscriptions/listen")
    calls = [times.begin(), times.begin()]
    times.patience.doubt(times.pending)
    assert times.passes(limits.STRAY_AMONG_SECONDS - 10, heard=True) == []
    assert times.passes(20, heard=True) == calls
    assert {call.overdue for call in calls} == {"sent an answer that belongs to no request"}


def test_an_answer_to_nobody_ends_the_only_one_that_waits_at_once(times: Times) -> None:
    times.begin("subscriptions/listen")
    call = times.begin()
    times.patience.doubt(times.pending)
    assert times.passes(10, heard=True) == [call]
