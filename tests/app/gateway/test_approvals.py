"""Calls that wait for a yes: nothing is sent without one, and nothing twice."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gateway_store
import pytest
from raw_host import text

from app.core.errors import ToolcribError
from app.core.scrubber import HIDDEN
from app.policy.approvals import CHOICES, ask_again, decide, waiting
from store import approvals, servers
from store.connection import open_store
from store.records import ALLOWED, ALWAYS, DENIED, SESSION, Approval

pytestmark = pytest.mark.usefixtures("encoderless")
ASKS = {"gateway": {"approve": ["probe/echo"], "approve_seconds": 20}}
KEPT = "k7Qw-9zPx-33ab"  # of a server that is not started
SECRET = "ghp_" + "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8"


@pytest.fixture
def ready(stocked: Any, gateway: Any, log: Any) -> Callable[..., Any]:
    """ready(settings) starts a gateway; gives host, database, calls that reached the server."""

    def make(settings: Any = ASKS, *options: str, answers: Any = None, form: bool = False) -> Any:
        database = stocked({"probe": "ok"}, settings)
        host = gateway(*options, answers=answers)
        host.initialize({"elicitation": {}} if form else {})

        def calls() -> list[Any]:
            return [m["params"] for m in log("probe") if m.get("method") == "tools/call"]

        return host, database, calls

    return make


def ask(host: Any, value: str = "hi", tool: str = "probe/echo") -> Any:
    arguments = {"name": tool, "arguments": {"text": value}}
    return host.ask("tools/call", {"name": "call_tool", "arguments": arguments})


def rows(database: Path) -> list[Approval]:
    db = open_store(database)
    try:
        return waiting(db, time.time())
    finally:
        db.close()


def choose(database: Path, number: int, choice: str) -> None:
    db = open_store(database)
    try:
        decide(db, number, choice, time.time())
    finally:
        db.close()


def one_waiting(host: Any, database: Path) -> Approval:
    (row,) = host.until(lambda: rows(database))
    return row


def answer(host: Any, number: Any) -> str:
    return text(host.wait(number)["result"])


def test_a_call_is_sent_after_a_yes_and_only_once(ready: Any) -> None:
    host, database, calls = ready()
    number = ask(host)
    row = one_waiting(host, database)
    assert (row.tool, json.loads(row.arguments)) == ("probe/echo", {"text": "hi"})
    assert calls() == []
    choose(database, row.id, ALLOWED)
    assert "hi" in answer(host, number)
    assert len(calls()) == 1
    with pytest.raises(ToolcribError, match="waits no more"):
        choose(database, row.id, ALLOWED)
    assert len(calls()) == 1


def test_a_no_is_an_error_that_says_what_happened(ready: Any) -> None:
    host, database, calls = ready()
    number = ask(host)
    choose(database, one_waiting(host, database).id, DENIED)
    assert answer(host, number).startswith("probe/echo needs a person's yes. The user said no.")
    assert calls() == []


def test_without_an_answer_in_time_nothing_is_sent(ready: Any) -> None:
    host, database, calls = ready({"gateway": {"approve": ["probe/echo"], "approve_seconds": 1}})
    number = ask(host)
    row = one_waiting(host, database)
    assert "in time" in answer(host, number)
    with pytest.raises(ToolcribError, match="waits no more"):
        choose(database, row.id, ALLOWED)
    assert calls() == []


def test_a_tool_that_is_not_marked_is_not_asked_about(ready: Any) -> None:
    host, database, calls = ready({"gateway": {"approve": ["probe/other_*"]}})
    assert "hi" in answer(host, ask(host))
    assert rows(database) == [] and len(calls()) == 1


@pytest.mark.parametrize("choice", [SESSION, ALWAYS])
def test_a_wider_yes_is_remembered(ready: Any, gateway: Any, choice: str) -> None:
    host, database, _calls = ready()
    first = ask(host)
    choose(database, one_waiting(host, database).id, choice)
    answer(host, first)
    assert "again" in answer(host, ask(host, "again"))
    host.close()
    other = gateway()
    other.initialize({})
    number = ask(other, "new session")
    if choice == ALWAYS:
        assert "new session" in answer(other, number)
        db = open_store(database)
        ask_again(db, "default", "probe/echo")
        db.close()
        number = ask(other, "later")
    assert one_waiting(other, database).tool == "probe/echo"
    choose(database, rows(database)[0].id, DENIED)
    assert "said no" in answer(other, number)


def test_secrets_in_arguments_are_masked_and_decided_ones_cleared(ready: Any) -> None:
    host, database, _calls = ready()
    number = ask(host, f"token {SECRET}")
    row = one_waiting(host, database)
    assert SECRET not in row.arguments
    choose(database, row.id, DENIED)
    answer(host, number)
    db = open_store(database)
    kept = approvals.find(db, row.id)
    db.close()
    assert kept is not None and kept.arguments == ""


@pytest.fixture
def keychain(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """keychain() moves the values of `locked` into one that answers as its pipe is written."""
    pipe = tmp_path / "keychain"
    os.mkfifo(pipe)
    monkeypatch.setenv("KEYCHAIN_PIPE", str(pipe))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.fakes.gated_keychain.Keyring")

    def move() -> Path:
        with closing(open_store(home / "toolcrib.db")) as db:
            (locked,) = [s for s in servers.all_servers(db) if s.name == "locked"]
        file = home / "secrets.json"
        kept = json.loads(file.read_text(encoding="utf-8"))
        del kept[locked.spec.key]
        file.write_text(json.dumps(kept), encoding="utf-8")
        return pipe

    return move


def with_locked(stocked: Any, seconds: int) -> Path:
    locked = {"command": "not-there", "args": [], "env": {"API_KEY": KEPT}}
    settings = {"gateway": {"approve": ["probe/echo"], "approve_seconds": seconds}}
    database: Path = stocked({"probe": "ok", "locked": locked}, settings)
    return database


def test_a_keychain_that_hangs_delays_no_other_call_and_shows_no_secret(
    stocked: Any, gateway: Any, keychain: Any
) -> None:
    database = with_locked(stocked, 60)
    pipe = keychain()
    host = gateway()
    host.initialize({})
    number = ask(host, f"with {KEPT}")
    other = host.ask("tools/call", {"name": "call_tool", "arguments": {"name": "probe/add"}})
    assert host.wait(other, 10)["result"]
    assert rows(database) == [] and not host.answered(number)
    pipe.write_text(json.dumps({"env": {"API_KEY": KEPT}}), encoding="utf-8")
    row = one_waiting(host, database)
    assert json.loads(row.arguments) == {"text": f"with {HIDDEN}"}
    choose(database, row.id, ALLOWED)
    assert KEPT in answer(host, number)


@pytest.mark.parametrize("ends", ["silent", "locked", "withdrawn"])
def test_a_call_whose_secrets_cannot_be_read_is_not_sent_or_stored(
    stocked: Any, gateway: Any, keychain: Any, log: Any, ends: str
) -> None:
    database = with_locked(stocked, 1 if ends == "silent" else 60)
    pipe = keychain()
    host = gateway()
    host.initialize({})
    number = ask(host, f"with {KEPT}")
    if ends == "locked":
        pipe.write_text("", encoding="utf-8")
        assert "keychain cannot be read" in answer(host, number)
    elif ends == "silent":
        assert "keychain did not answer" in answer(host, number)
    else:
        host.notify("notifications/cancelled", {"requestId": number})
        host.tools()
    pipe.write_text(json.dumps({"env": {"API_KEY": KEPT}}), encoding="utf-8")
    host.until(lambda: gateway_store.recorded(database, "approval"))
    assert rows(database) == []
    host.close()
    assert KEPT.encode() not in database.read_bytes()
    assert not [m for m in log("probe") if m.get("method") == "tools/call"]


def test_it_works_where_one_server_is_served_alone(ready: Any) -> None:
    host, database, calls = ready(ASKS, "--server", "probe")
    number = host.ask("tools/call", {"name": "echo", "arguments": {"text": "alone"}})
    choose(database, one_waiting(host, database).id, ALLOWED)
    assert "alone" in answer(host, number)
    assert len(calls()) == 1


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_a_host_that_can_ask_is_asked_too(ready: Any, action: str) -> None:
    answers = {"elicitation/create": {"action": action, "content": {}}}
    host, database, calls = ready(answers=answers, form=True)
    reply = answer(host, ask(host))
    assert ("hi" in reply) is (action == "accept")
    assert len(calls()) == (action == "accept")
    assert rows(database) == []


def test_a_form_that_was_closed_decides_nothing(ready: Any) -> None:
    answers = {"elicitation/create": {"action": "cancel"}}
    host, database, calls = ready(answers=answers, form=True)
    number = ask(host)
    row = one_waiting(host, database)
    host.until(lambda: host.asked)
    choose(database, row.id, ALLOWED)
    assert "hi" in answer(host, number) and len(calls()) == 1


def test_twenty_calls_wait_at_once_and_each_gets_its_own_answer(ready: Any) -> None:
    host, database, calls = ready()
    numbers = {f"call {n}": ask(host, f"call {n}") for n in range(20)}
    host.until(lambda: len(rows(database)) == 20)
    allowed = []
    for place, row in enumerate(rows(database)):
        choose(database, row.id, ALLOWED if place % 2 else DENIED)
        if place % 2:
            allowed.append(json.loads(row.arguments)["text"])
    for value, number in numbers.items():
        assert ("said no" not in answer(host, number)) is (value in allowed)
    assert sorted(call["arguments"]["text"] for call in calls()) == sorted(allowed)


def test_more_than_fifty_waiting_calls_are_refused(ready: Any) -> None:
    host, database, calls = ready()
    numbers = [ask(host, str(n)) for n in range(51)]
    host.until(lambda: len(rows(database)) == 50)
    late = [n for n in numbers if host.answered(n)]
    host.until(lambda: any(host.answered(n) for n in numbers))
    late = [n for n in numbers if host.answered(n)]
    assert len(late) == 1 and "other calls wait already" in answer(host, late[0])
    assert calls() == []


def test_a_gateway_that_is_killed_while_it_waits_runs_nothing(ready: Any, gateway: Any) -> None:
    host, database, calls = ready()
    ask(host)
    row = one_waiting(host, database)
    os.kill(host.process.pid, signal.SIGKILL)
    host.process.wait(10)
    choose(database, row.id, ALLOWED)
    other = gateway()
    other.initialize({})
    other.tools()
    assert calls() == []


def test_a_host_that_leaves_takes_its_call_along(ready: Any) -> None:
    host, database, calls = ready()
    ask(host)
    row = one_waiting(host, database)
    host.close()
    assert rows(database) == []
    with pytest.raises(ToolcribError, match="waits no more"):
        choose(database, row.id, ALLOWED)
    assert calls() == []


def test_a_withdrawn_call_waits_no_more_and_is_not_sent_after_a_yes(ready: Any) -> None:
    host, database, calls = ready()
    number = ask(host)
    row = one_waiting(host, database)
    host.notify("notifications/cancelled", {"requestId": number})
    host.tools()
    assert host.until(lambda: not rows(database))
    with pytest.raises(ToolcribError, match="waits no more"):
        choose(database, row.id, ALLOWED)
    assert "second" in answer(host, ask_and_allow(host, database, "second"))
    assert [call["arguments"]["text"] for call in calls()] == ["second"]


def ask_and_allow(host: Any, database: Path, value: str) -> Any:
    number = ask(host, value)
    row = next(iter(host.until(lambda: [r for r in rows(database) if value in r.arguments])))
    choose(database, row.id, ALLOWED)
    return number


def test_two_that_decide_at_once_decide_once(ready: Any) -> None:
    host, database, calls = ready()
    number = ask(host)
    row = one_waiting(host, database)
    outcomes = []
    for choice in CHOICES:
        try:
            choose(database, row.id, choice)
            outcomes.append(choice)
        except ToolcribError:
            pass
    assert outcomes == [ALLOWED]
    assert "hi" in answer(host, number) and len(calls()) == 1


def test_tools_that_say_so_of_themselves_are_asked_about() -> None:
    from app.gateway.approvals import Approvals

    class View:
        def setting(self, name: str, default: Any) -> Any:
            return ["destructive"] if name == "approve" else default

    held = Approvals(View(), None, None, None)  # type: ignore[arg-type]
    destructive = json.dumps({"name": "x", "annotations": {"destructiveHint": True}})
    assert held.marks("s/x", destructive)
    assert not held.marks("s/x", json.dumps({"name": "x", "annotations": None}))
    assert not held.marks("s/x", "")


def test_a_stateless_hosts_call_is_sent_by_a_yes_in_the_window(
    stocked: Any, gateway: Any, log: Any
) -> None:
    database = stocked({"probe": "ok"}, ASKS)
    host = gateway()
    host.modern("server/discover")
    named = {"name": "call_tool", "arguments": {"name": "probe/echo", "arguments": {"text": "hi"}}}
    asked = host.modern("tools/call", named)
    assert asked["resultType"] == "input_required"
    (row,) = rows(database)
    with closing(open_store(database)) as db:
        decide(db, row.id, ALLOWED, time.time())
    host.until(lambda: "echo" in str([m for m in log("probe") if m.get("method") == "tools/call"]))
    (key,) = asked["inputRequests"]
    late = {"inputResponses": {key: {"action": "accept"}}, "requestState": asked["requestState"]}
    done = host.modern("tools/call", {**named, **late})
    assert done["resultType"] == "complete" and "hi" in str(done)
    calls = [m for m in log("probe") if m.get("method") == "tools/call"]
    assert len(calls) == 1


def test_halves_of_characters_wait_for_a_yes_like_others(ready: Any) -> None:
    host, database, calls = ready()
    number = ask(host, "half \ud800")
    waits = one_waiting(host, database)
    assert "half ?" in waits.arguments
    choose(database, waits.id, DENIED)
    assert host.wait(number)["result"]["isError"]
    assert not calls()
