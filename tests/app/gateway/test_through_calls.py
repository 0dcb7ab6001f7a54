"""Calls of servers behind call_tool: arguments, conditions, repeats and the loaded set."""

import json

import pytest
from gateway_store import recorded
from raw_host import text

from store import profiles, tools
from store.connection import open_store, transaction

pytestmark = pytest.mark.usefixtures("encoderless")
TWO = {"alpha": "ok", "beta": "ok"}


def start(gateway, **answers):
    host = gateway(answers=answers)
    host.initialize()
    return host


@pytest.mark.parametrize("promote", [False, True])
def test_a_call_by_exact_name_is_journalled_as_one_call(stocked, gateway, promote):
    database = stocked(TWO, {"gateway": {"promote": promote}})
    host = start(gateway)
    assert text(host.run("alpha/echo", {"text": "hi"})) == "hi"
    assert text(host.run("alpha/echo", {"text": "again"})) == "again"
    host.close()
    assert recorded(database, "miss") == []
    calls = recorded(database, "call")
    assert [(e.tool, e.problem) for e in calls] == [("alpha/echo", "")] * 2
    assert sorted(bool(e.detail.get("by_name")) for e in calls) == [False, True]
    # what is loaded reaches the model only where loaded tools are listed
    assert [e.tool for e in recorded(database, "load")] == ["alpha/echo"] * promote


def test_a_call_after_a_search_for_the_tool_is_not_one_by_name(stocked, gateway):
    database = stocked(TWO)
    host = start(gateway)
    host.call("search_tools", {"query": "alpha/echo"})
    assert text(host.run("alpha/echo", {"text": "hi"})) == "hi"
    host.close()
    assert [e.detail for e in recorded(database, "call")] == [{}]
    assert [e.tool for e in recorded(database, "load")] == ["alpha/echo"]


def test_wrong_arguments_are_explained_and_the_retry_succeeds(stocked, gateway, log):
    stocked(TWO)
    host = start(gateway)
    starts = len(log("alpha"))
    refused = host.run("alpha/read_note", {"number": "four"})
    said = json.loads(text(refused))
    assert refused["isError"] and said["error"] == "invalid_arguments"
    assert said["inputSchema"]["required"] == ["number"] and "number" in said["reason"]
    assert len(log("alpha")) == starts  # the server was not bothered
    assert text(host.run("alpha/read_note", {"number": 4})) == "read_note 4 done"
    again = json.loads(text(host.run("alpha/read_note", {})))
    assert again["error"] == "invalid_arguments"


def test_a_text_that_parses_is_sent_as_what_the_schema_asks_for(stocked, gateway):
    stocked(TWO)
    host = start(gateway)
    assert text(host.run("alpha/read_note", {"number": "4"})) == "read_note 4 done"
    refused = json.loads(text(host.run("alpha/read_note", {"number": "4.5"})))
    assert refused["error"] == "invalid_arguments"
    assert text(host.run("alpha/echo", {"text": "4"})) == "4"  # a text stays one


def test_the_same_wrong_call_again_gets_a_hint_and_no_schema(stocked, gateway):
    stocked(TWO)
    host = start(gateway)
    answers = [json.loads(text(host.run("alpha/read_note", {}))) for _ in range(4)]
    assert all("inputSchema" in one for one in answers[:2])
    for one in answers[2:]:
        assert "inputSchema" not in one and "times with the same arguments" in one["hint"]
    unknown = [json.loads(text(host.run("alpha/nothing", {}))) for _ in range(3)]
    assert "times with the same arguments" in unknown[2]["hint"]


def test_a_setting_that_cannot_be_read_holds_its_tools_back_and_the_rest_is_served(
    stocked, gateway
):
    bad = {"preconditions": {"alpha/read_note": ["authenticated"]}, "gateway": {"pool": 7}}
    stocked(TWO, bad)
    host = start(gateway)
    found = host.search("beta read a note by its number")
    assert "preconditions of alpha/read_note" in found and "gateway.pool cannot be 7" in found
    assert text(host.run("beta/read_note", {"number": 1})) == "read_note 1 done"
    refused = json.loads(text(host.run("alpha/read_note", {"number": 1})))
    assert "cannot be read" in refused["reason"]
    assert any("authenticated(scope)" in one for one in refused["settings"])


def test_an_unknown_tool_gets_near_names(stocked, gateway):
    stocked(TWO)
    host = start(gateway)
    said = json.loads(text(host.run("alpha/read_notes", {})))
    assert said["error"] == "tool_not_available" and "alpha/read_note" in said["available"]


def test_off_and_held_tools_are_not_found_and_not_called(stocked, gateway):
    database = stocked(TWO)
    db = open_store(database)
    profile = profiles.by_name(db, "default").id
    by_id = {t.tool_id: t.id for t in tools.tools(db)}
    with transaction(db):
        profiles.set_on(db, profile, [by_id["alpha/read_note"]], False)
        profiles.set_held(db, profile, [by_id["beta/read_note"]], "new")
    db.close()
    host = start(gateway)
    first, rest = host.search("read a note by its number").split("\n", 1)
    assert first.startswith("The best match is off: alpha/read_note (it is turned off")
    assert "read_note" not in rest  # what is held is not named at all
    for name, reason in (("alpha", "it is turned off"), ("beta", "it is new")):
        said = json.loads(text(host.run(f"{name}/read_note", {"number": 1})))
        assert said["error"] == "tool_not_available" and reason in said["reason"]


def test_preconditions_follow_what_really_happened(stocked, gateway):
    rules = {
        "alpha/delete_note": ["after(alpha/login)"],
        "beta/delete_note": ["milestone(approved)"],
        "beta/unauthorized": ["authenticated(beta)"],
    }
    stocked(TWO, {"preconditions": rules})
    host = start(gateway)
    said = json.loads(text(host.run("alpha/delete_note", {"number": 1})))
    assert "alpha/login was not called yet" in said["reason"]
    assert "alpha/delete_note" not in host.search("delete a note for good").splitlines()[0]
    host.run("alpha/login")
    assert text(host.run("alpha/delete_note", {"number": 1})) == "delete_note 1 done"
    assert "approved" in text(host.run("beta/delete_note", {"number": 1}))
    host.run("toolcrib/milestone", {"name": "approved"})
    assert text(host.run("beta/delete_note", {"number": 1})) == "delete_note 1 done"
    assert text(host.run("beta/unauthorized")) == "401 Unauthorized"  # credentials were there
    assert "not signed in for beta" in text(host.run("beta/unauthorized"))  # they are refused
    host.run("beta/echo", {"text": "x"})  # and taken again
    assert text(host.run("beta/unauthorized")) == "401 Unauthorized"


def test_the_loop_guard_lets_the_call_run_then_evicts_and_a_search_clears_it(stocked, gateway):
    database = stocked(TWO, {"gateway": {"loop_calls": 3}})
    host = start(gateway)
    host.search("read a note")
    answers = [text(host.run("alpha/read_note", {"number": 1})) for _ in range(3)]
    assert answers[:2] == ["read_note 1 done"] * 2
    assert answers[2].startswith("read_note 1 done\nYou have called alpha/read_note 3 times")
    assert text(host.run("alpha/read_note", {"number": 2})) == "read_note 2 done"
    host.search("read a note")
    assert text(host.run("alpha/read_note", {"number": 1})) == "read_note 1 done"
    host.close()
    assert recorded(database, "evicted")[0].problem == "repeated calls"


def test_deeply_nested_arguments_are_answered_once(stocked, gateway):
    stocked(TWO)
    host = start(gateway)
    for depth in (100, 300, 480):  # Python's stack holds 1000 calls, a message 500 levels
        deep: object = 1
        for _ in range(depth):
            deep = [deep]
        assert text(host.run("alpha/args", {"x": deep})).startswith('{"x": [[')
    assert text(host.run("alpha/echo", {"text": "one more"})) == "one more"


def test_exempt_tools_may_repeat(stocked, gateway):
    stocked(TWO, {"gateway": {"loop_calls": 2, "loop_exempt": ["alpha/*"]}})
    host = start(gateway)
    assert {text(host.run("alpha/echo", {"text": "a"})) for _ in range(5)} == {"a"}


def test_the_loaded_set_keeps_to_its_capacity(stocked, gateway):
    database = stocked(TWO, {"gateway": {"loaded_tools": 2}})
    host = start(gateway)
    for name in ("echo", "login", "pid"):
        assert host.search(f"alpha/{name}").startswith(f"alpha/{name}")
    host.close()
    assert [e.tool for e in recorded(database, "evicted")] == ["alpha/echo"]
