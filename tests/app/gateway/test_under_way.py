"""A call under way: noted once, whoever comes first; journalled when the host has its answer."""

import threading
from types import SimpleNamespace

import pytest

from app.gateway.menu.loop_guard import LoopGuard, Rules
from app.gateway.menu.menu_call import MenuCall, MenuEffects
from app.gateway.menu.results import Results
from app.gateway.menu.session import Limits, LoadedSet, Session
from app.gateway.outgoing import Outgoing, ResultHistory


@pytest.fixture
def caller():
    """What a call asks of its context, written down."""
    told = []
    journal = SimpleNamespace(add=lambda kind, **fields: told.append((kind, fields)))
    effects = MenuEffects(
        Results(),
        lambda _session, tool_id, row: told.append(("load", tool_id, row)),
        lambda _session, tool_id: told.append(("unload", tool_id)),
    )
    outgoing = Outgoing(ResultHistory(), None, journal, None)
    return SimpleNamespace(
        told=told, effects=effects, journal=journal, outgoing=outgoing, hold=lambda *_call: None
    )


@pytest.fixture
def session():
    return Session(LoadedSet(Limits()), LoopGuard(Rules(calls=2)))


def made(caller, session, arguments, name="read", **more):
    """A call of a tool of fs on its way to a server that is never reached."""
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    upstream = SimpleNamespace(name="fs")
    return MenuCall(caller, caller.effects, session, upstream, message, **more)


def answer(text):
    return {"id": 1, "result": {"content": [{"type": "text", "text": text}]}}


def test_two_threads_note_a_call_once(caller, session):
    for _ in range(50):
        caller.told.clear()
        session.guard.clear()
        call = made(caller, session, {}, row_id=7)
        ready, found = threading.Barrier(2), []

        def note(call=call, ready=ready, found=found):
            ready.wait(5)
            found.append(call.note())

        threads = [threading.Thread(target=note) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert found == ["", ""]
        assert caller.told == [("load", "fs/read", 7)]


def test_an_answer_before_the_note_is_still_seen_as_a_repetition(caller, session):
    for _ in range(2):
        call = made(caller, session, {"path": "a"})
        changed = call.finish(b"x" * 40, answer("same"))
        call.note()
    assert changed is not None
    assert "2 times" in changed["result"]["content"][1]["text"]
    assert ("unload", "fs/read") in caller.told


def test_the_journal_hears_of_a_call_before_the_host_has_its_answer(caller, session):
    call = made(caller, session, {})
    assert call.finish(b"x" * 40, answer("fine")) is None
    assert caller.told == []
    call.ending()
    kind, fields = caller.told[0]
    assert (kind, fields["tool"], fields["tokens"], fields["problem"]) == (
        "call",
        "fs/read",
        10,
        "",
    )


def test_the_tool_behind_a_call_is_noted_by_its_name_alone_where_it_was_answered(caller, session):
    arguments = {"tool_name": "send", "parameters": {"to": "PRIVATE"}}
    failed = {"id": 1, "error": {"code": -1, "message": "it failed"}}
    for name, given, noted in (
        ("execute_tool", answer("fine"), {"behind": "send"}),
        ("execute_tool", failed, {}),
        ("create_issue", answer("fine"), {}),
    ):
        caller.told.clear()
        call = made(caller, session, arguments, name)
        call.finish(b"x" * 40, given)
        call.ending()
        assert caller.told[-1][1]["detail"] == noted


@pytest.mark.parametrize("line", [b"", b"x" * 4000])
def test_a_text_over_the_budget_is_cut_even_if_its_line_was_mended(caller, session, line):
    call = made(caller, session, {}, tokens=100)
    changed = call.finish(line, answer("y" * 3000))
    assert changed is not None
    assert len(changed["result"]["content"][0]["text"]) == 400


def test_a_refused_sign_in_is_remembered_until_a_call_succeeds(caller, session):
    made(caller, session, {}).finish(
        b"x", {"id": 1, "error": {"code": -1, "message": "401 Unauthorized"}}
    )
    assert session.refused == {"fs"}
    made(caller, session, {}).finish(b"x", answer("fine"))
    assert session.refused == set()
