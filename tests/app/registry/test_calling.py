"""Tools called by hand: results, refusals, secrets, what is left running."""

import json
import sys
import threading
from pathlib import Path

import pytest

from app.catalog.catalog import trust_server
from app.core.errors import ToolcribError
from app.hosts.launch import STDIO, LaunchSpec
from app.registry.calling import CallSession
from app.registry.importing import add_server

SERVER = Path(__file__).parents[2] / "fakes" / "hand_server.py"


@pytest.fixture
def hand(ctx, tmp_path):
    """A trusted server that answers calls; gives (CallSession, its server id)."""
    ctx.paths.create()
    env = {"HAND_TOKEN": "tok-4711-hidden", "HAND_PID": str(tmp_path / "pid")}
    launch = LaunchSpec(STDIO, sys.executable, (str(SERVER),), env)
    db = ctx.open_store()
    number = add_server(ctx, db, "hand", launch).registered.server_ids[0]
    trust_server(db, number, 1.0)
    db.close()
    server = CallSession(ctx, number)
    yield server
    server.close()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def pid_of(tmp_path) -> int:
    return int((tmp_path / "pid").read_text())


def test_a_call_gives_the_result_its_time_and_the_messages(hand):
    call = hand.call("echo", {"text": "hello", "times": 2})
    assert call.result["content"] == [{"type": "text", "text": "hello hello"}]
    assert call.result["structuredContent"] == {"text": "hello hello"}
    assert call.problem == "" and not call.failed
    assert call.start_seconds > 0 and call.seconds > 0
    sent = [json.loads(m.text) for m in call.messages if m.sent]
    assert [m["method"] for m in sent] == ["initialize", "notifications/initialized", "tools/call"]
    assert sent[-1]["params"] == {"name": "echo", "arguments": {"text": "hello", "times": 2}}
    answer = json.loads(call.messages[-1].text)
    assert answer["id"] == sent[-1]["id"] and answer["result"] == call.result


def test_the_server_is_kept_for_the_next_call_and_ended_by_close(hand, tmp_path):
    hand.call("echo", {"text": "one"})
    pid = pid_of(tmp_path)
    again = hand.call("echo", {"text": "two"})
    assert again.start_seconds == 0
    assert pid_of(tmp_path) == pid and is_running(pid)
    assert len(again.messages) == 2  # the call and its answer, nothing of before
    hand.close()
    assert not is_running(pid)


def test_an_error_of_the_tool_and_a_refusal_are_told_apart(hand):
    error = hand.call("fail", {})
    assert error.failed and error.result["isError"] and error.problem == ""
    refusal = hand.call("unknown", {})
    assert refusal.result == {} and refusal.problem.startswith("It refused to answer tools/call")
    assert hand.call("echo", {"text": "still there"}).start_seconds == 0


def test_no_secret_comes_back(hand):
    call = hand.call("leak", {"password": "typed-secret-99"}, secrets=["typed-secret-99"])
    shown = json.dumps(call.result) + "".join(m.text for m in call.messages) + call.printed
    assert "tok-4711-hidden" not in shown
    assert "typed-secret-99" not in shown
    assert "••••" in shown


def test_a_call_can_be_stopped_and_the_next_one_starts_anew(hand, tmp_path):
    stop = threading.Event()
    hand.call("echo", {"text": "warm"})
    pid = pid_of(tmp_path)
    threading.Timer(0.3, stop.set).start()
    call = hand.call("hang", {}, cancelled=stop.is_set)
    assert call.problem == "You stopped it; the server was ended."
    assert not is_running(pid)
    assert hand.call("echo", {"text": "again"}).result["content"][0]["text"] == "again"


def test_a_server_that_dies_says_what_it_printed(hand):
    call = hand.call("die", {})
    assert call.problem == "It exited with code 7."
    assert "no more" in call.printed


def test_what_is_not_trusted_is_not_started(ctx, tmp_path):
    ctx.paths.create()
    marker = tmp_path / "pid"
    launch = LaunchSpec(STDIO, sys.executable, (str(SERVER),), {"HAND_PID": str(marker)})
    db = ctx.open_store()
    number = add_server(ctx, db, "hand", launch).registered.server_ids[0]
    db.execute("UPDATE servers SET trusted = 0 WHERE id = ?", (number,))
    db.close()
    with pytest.raises(ToolcribError, match="not trusted yet"):
        CallSession(ctx, number).call("echo", {})
    assert not marker.exists()
