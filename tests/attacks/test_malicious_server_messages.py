"""A server that answers with what nobody expects: every call ends, the next one works."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from odd_gateway import DOUBTED, NOBODYS, REFUSALS, RIGHT, line, start, stock


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return stock(tmp_path_factory.mktemp("odd") / "home")


@pytest.fixture(
    scope="module",
    params=[("pruned", False), ("through", False), ("pruned", True), ("through", True)],
    ids=["pruned", "through", "pruned-backend", "through-backend"],
)
def odd(request, home):
    one = start(home, *request.param)
    yield one
    one.close()


@pytest.mark.parametrize("answer", REFUSALS, ids=range(len(REFUSALS)))
def test_an_answer_that_is_none_ends_its_call_and_nothing_else(odd, answer):
    assert odd.send(answer, answer=False)
    odd.assert_well()


@pytest.mark.parametrize("number", ["@ID@.0", '"@ID@"', "@ID@e0"])
def test_an_id_in_another_spelling_is_the_id(odd, number):
    result = {"content": [{"type": "text", "text": "mine"}]}
    answer = line(id="@ID@", result=result).replace("@ID@", number, 1)
    assert odd.send(answer, answer=False) == "mine"


def test_a_call_whose_answer_belongs_to_nobody_does_not_wait_for_ever(odd):
    answers = ['{"jsonrpc":"2.0","result":{},"id":' + number + "}" for number in NOBODYS]
    said = odd.send(*answers, answer=False, seconds=DOUBTED)
    assert "belongs to no request" in said
    odd.assert_well()


NOTICES = [
    line(method="notifications/progress", params=[1, 2]),
    line(method="notifications/progress", params={"progressToken": {}, "progress": 1}),
    line(method="notifications/progress", params="half"),
    line(method="notifications/cancelled", params=[1]),
    line(method="notifications/cancelled", params={"requestId": {"a": 1}}),
    line(method="notifications/message", params=7),
    line(method="notifications/message", params={"level": [], "logger": {}}),
    line(method="notifications/tools/list_changed", params="x"),
    line(method="notifications/resources/updated", params={"uri": {}}),
    line(method=7),
    line(method=None),
    line(method={"a": 1}, id=1),
    line(method="roots/list", id={"a": 1}),
    line(method="roots/list", id=[1], params=[]),
    line(method="sampling/createMessage", id=True, params="x"),
    line(method="elicitation/create", id="e", params=[1]),
    line(method="elicitation/create", id="f", params={"_meta": {"progressToken": []}}),
    "[" * 50_000,
    '{"jsonrpc":"2.0","method":"notifications/message","params":' + '{"a":' * 50_000,
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
]


@pytest.mark.parametrize("notice", NOTICES, ids=range(len(NOTICES)))
def test_an_odd_notification_or_request_stops_no_call(odd, notice):
    assert odd.send(notice)
    odd.assert_well()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
METHODS = [
    "notifications/progress",
    "notifications/cancelled",
    "notifications/message",
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/subscriptions/acknowledged",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
    "ping",
]
odd_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | json_values},
    optional={
        "id": json_values,
        "method": st.sampled_from(METHODS) | json_values,
        "params": json_values
        | st.fixed_dictionaries({"progressToken": json_values, "requestId": json_values}),
        "result": json_values,
        "error": json_values,
    },
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(messages=st.lists(odd_messages, min_size=1, max_size=4))
def test_generated_messages_before_the_answer_stop_no_call(odd, messages):
    assert odd.send(*[json.dumps(message) for message in messages]) == RIGHT


host_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(["x", "notifications/x", *METHODS])},
    optional={"params": json_values | st.fixed_dictionaries({"requestId": json_values})},
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(messages=st.lists(host_messages, min_size=1, max_size=4))
def test_generated_notifications_of_the_host_do_not_end_the_gateway(odd, messages):
    for message in messages:
        odd.host.send(message)
    odd.assert_well()


@pytest.mark.parametrize("number", [{}, [], {"a": [1]}, None, True])
def test_a_request_of_the_host_with_an_odd_id_is_refused_and_survived(odd, number):
    odd.host.unsolicited.clear()
    for method in ("tools/list", "ping", "resources/read", "server/discover"):
        odd.host.send({"jsonrpc": "2.0", "id": number, "method": method})
    odd.assert_well()
    refused = [answer["error"]["message"] for answer in odd.host.unsolicited]
    assert refused == ["The id is no number or text"] * 4
    odd.host.unsolicited.clear()


def test_a_request_of_the_host_beyond_all_depth_is_refused_by_its_id(odd):
    deep = "[" * 50_000 + "]" * 50_000
    odd.host.send_raw(
        b'{"jsonrpc":"2.0","id":"x","method":"tools/list","params":%b}\n' % deep.encode()
    )
    odd.host.send_raw(b'{"jsonrpc":"2.0","id":9999,"method":"ping","params":%b}\n' % deep.encode())
    mine = odd.host.until(lambda: [m for m in odd.host.unsolicited if m.get("id") == 9999])
    assert "nested too deeply" in mine[0]["error"]["message"]
    odd.assert_well()


def peak_megabytes(pid):
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_hundred_megabytes_of_small_lists_are_never_parsed(home):
    """Parsed they take 3 GB."""
    odd = start(home, "pruned")
    try:
        odd.assert_well()
        assert "values" in odd.call("bomb", 60, megabytes=100)
        odd.assert_well()
        assert peak_megabytes(odd.host.process.pid) < 500
    finally:
        odd.host.close()
