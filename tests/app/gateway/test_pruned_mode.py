"""One server behind the gateway cannot be told from the server itself."""

import json
from contextlib import closing

import pytest
from raw_host import RawHost, RpcError, text

from store import profiles, queries, tools
from store.connection import open_store, transaction
from store.hashes import tool_hash
from store.records import LabelRecord

pytestmark = pytest.mark.usefixtures("encoderless")
SAMPLE = {"role": "assistant", "content": {"type": "text", "text": "MODEL"}, "model": "m"}


@pytest.fixture
def host(stocked, gateway):
    stocked({"probe": "ok"}, {"new_tools": "on"})
    started = gateway("--server", "probe", answers={"sampling/createMessage": SAMPLE})
    started.initialize()
    return started


def test_initialize_and_lists_come_from_the_store_without_a_start(host, log):
    starts = len([e for e in log("probe") if e["ev"] == "start"])
    again = host.request("ping")
    assert again == {}
    assert {t["name"] for t in host.tools()} >= {"echo", "pid"}
    assert host.request("prompts/list")["prompts"][0]["name"] == "greet"
    assert host.request("resources/list")["resources"][0]["uri"] == "probe://doc/1"
    assert len([e for e in log("probe") if e["ev"] == "start"]) == starts


def test_initialize_says_what_the_server_says(stocked, gateway):
    stocked({"probe": "ok"})
    found = gateway("--server", "probe").initialize(version="2025-03-26")
    assert found["serverInfo"] == {"name": "probe", "version": "1"}
    assert found["instructions"] == "probe says: echo first."
    assert found["capabilities"]["resources"] == {"subscribe": True}
    assert found["protocolVersion"] == "2025-03-26"


def test_unknown_fields_meta_and_arguments_survive(host):
    echo = next(t for t in host.tools() if t["name"] == "echo")
    assert echo["_meta"] == {"x/y": 1} and echo["title"] == "Echo"
    assert host.call("echo", {"text": "hi"})["_meta"] == {"r": 1}
    deep = {"x": {"a": [1, 2.5, None, True, "ü\u2028\U0001f600"], "empty": {}}}
    assert json.loads(text(host.call("args", deep))) == deep
    assert json.loads(text(host.call("meta", {}, _meta={"trace": "abc"}))) == {"trace": "abc"}


def test_errors_keep_their_kind_code_and_data(host):
    with pytest.raises(RpcError) as caught:
        host.call("rpc_error")
    assert (caught.value.code, caught.value.data) == (-32042, {"k": 1})
    assert host.call("is_error")["isError"] is True
    with pytest.raises(RpcError, match="Unknown tool"):
        host.call("no_such_tool")
    with pytest.raises(RpcError) as caught:
        host.request("foo/bar")
    assert caught.value.code == -32601


def test_what_a_server_refuses_is_refused_in_its_words_before_it_runs_too(stocked, gateway):
    stocked({"probe": "ok"})  # new tools are held
    for name, arguments in (("no_such_tool", {}), (7, {}), (None, {})):
        host = gateway("--server", "probe")
        host.initialize()
        with pytest.raises(RpcError, match="Unknown tool") as caught:
            host.call(name, arguments)
        assert caught.value.code == -32602


def test_parts_that_a_server_has_not_are_refused_and_not_empty(
    stocked, gateway, modern_launch, log
):
    stocked({"now": modern_launch})
    host = gateway("--server", "now")
    assert set(host.initialize()["capabilities"]) == {"tools"}
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        with pytest.raises(RpcError) as caught:
            host.request(method)
        assert caught.value.code == -32601
    with pytest.raises(RpcError) as caught:
        host.request("logging/setLevel", {"level": "debug"})
    assert caught.value.code == -32601


def test_progress_logs_and_requests_of_the_server_reach_the_host(host):
    host.call("progress", {}, _meta={"progressToken": "t1"})
    assert [n["params"]["progress"] for n in host.noted("notifications/progress")] == [1, 2, 3]
    host.call("log")
    host.until(lambda: host.noted("notifications/message"))
    assert host.noted("notifications/message")[0]["params"]["logger"] == "inner"
    assert "MODEL" in text(host.call("sample"))
    assert host.asked[0]["method"] == "sampling/createMessage"
    assert "unsupported" in text(host.call("elicit"))


def test_a_cancelled_call_is_cancelled_there_and_never_answered(host, log):
    host.call("echo", {"text": "warm"})
    number = host.ask("tools/call", {"name": "sleep", "arguments": {"ms": 20000}})
    host.until(
        lambda: any(e.get("method") == "tools/call" and "ms" in str(e) for e in log("probe"))
    )
    host.notify("notifications/cancelled", {"requestId": number})
    host.until(lambda: any(e.get("method") == "notifications/cancelled" for e in log("probe")))
    host.call("echo", {"text": "after"})
    assert not host.answered(number)


def test_subscriptions_and_log_level_are_said_again_after_a_crash(host, log):
    host.request("logging/setLevel", {"level": "debug"})
    host.request("resources/subscribe", {"uri": "probe://doc/1"})
    first = text(host.call("pid"))
    broken = host.call("crash")
    assert broken["isError"] and "probe stopped" in text(broken) and "code 7" in text(broken)
    assert "sk-0123456789abcdef" not in text(broken)
    assert text(host.call("pid")) != first
    said = [e["method"] for e in log("probe") if e["ev"] == "recv"]
    assert said.count("logging/setLevel") == 2 and said.count("resources/subscribe") == 2


def test_a_tool_that_is_off_is_neither_listed_nor_called(stocked, gateway):
    database = stocked({"probe": "ok"})
    db = open_store(database)
    off = [t.id for t in tools.tools(db) if t.name == "delete_note"]
    with transaction(db):
        profiles.set_on(db, profiles.by_name(db, "default").id, off, False)
    host = gateway("--server", "probe")
    host.initialize()
    assert "delete_note" not in {t["name"] for t in host.tools()}
    refused = host.call("delete_note", {"number": 1})
    assert refused["isError"] and "turned off" in text(refused)
    assert text(host.call("read_note", {"number": 1})) == "read_note 1 done"
    assert "delete_note" not in {t["name"] for t in host.tools()}  # now live
    with transaction(db):
        profiles.set_on(db, profiles.by_name(db, "default").id, off, True)
    db.close()
    host.until(lambda: host.noted("notifications/tools/list_changed"))
    assert "delete_note" in {t["name"] for t in host.tools()}


@pytest.mark.parametrize("policy", ["held", "on"])
def test_a_tool_that_appears_later_follows_the_profile(stocked, gateway, policy):
    stocked({"probe": "ok"}, {"new_tools": policy})
    host = gateway("--server", "probe")
    host.initialize()
    host.call("add_tool")
    host.until(lambda: host.noted("notifications/tools/list_changed"), 60)
    names = {t["name"] for t in host.tools()}  # it is announced when its text was looked through
    shown = "zebra_0" in names
    answer = host.call("zebra_0", {"text": "x"})
    assert shown == (policy == "on")
    assert ("three zebras" in text(answer)) == shown


def test_the_command_after_two_dashes_is_the_one_that_runs(stocked, gateway, probe_command):
    stocked({"probe": "exit"})
    host = gateway("--server", "probe", "--", *probe_command)
    host.initialize()
    assert text(host.call("echo", {"text": "direct"})) == "direct"


@pytest.mark.parametrize("policy", ["held", "on"])
def test_a_text_that_changed_since_it_was_trusted_is_neither_shown_nor_called(
    stocked, gateway, policy
):
    database = stocked({"probe": "ok"}, {"new_tools": policy})
    db = open_store(database)
    with transaction(db):  # the store remembers another text than the server has now
        [[tool, raw]] = db.execute("SELECT id, raw FROM tools WHERE name = 'echo'")
        trusted = raw.replace("Return the given", "As trusted:")
        mark = tool_hash(json.loads(trusted))
        sql = "UPDATE tools SET raw = ?, hash = ?, trusted_hash = ? WHERE id = ?"
        db.execute(sql, (trusted, mark, mark, tool))
    db.close()
    host = gateway("--server", "probe")
    host.initialize()
    refused = host.call("echo", {"text": "start it"})
    assert refused["isError"] and "its text changed after it was trusted" in text(refused)
    assert "echo" not in {t["name"] for t in host.tools()}
    with closing(open_store(database)) as db:  # and once the new text is stored beside it
        host.until(lambda: tools.one(db, tool).hash != mark, 60)
    assert "echo" not in {t["name"] for t in host.tools()}


def test_a_server_that_was_never_read_is_started_to_describe_itself(stocked, gateway, log):
    stocked({"probe": "exit"})
    stocked({"probe": "ok"})
    db_host = gateway("--server", "probe")
    assert db_host.initialize()["instructions"] == "probe says: echo first."


REQUESTS = [
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", {"name": "test_multiple_content_types", "arguments": {}}),
    ("tools/call", {"name": "test_error_handling"}),
    ("tools/call", {"name": "nothing_of_the_kind", "arguments": {}}),
    ("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": 7}}),
    ("tools/call", {}),
    ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a"}}),
    ("prompts/get", {"name": "nothing_of_the_kind"}),
    ("resources/read", {"uri": "test://static-binary"}),
    ("resources/read", {"uri": "test://template/9/data"}),
    ("resources/read", {"uri": "test://not-there"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}),
    ("nothing/of-the-kind", {}),
    ("tasks/get", {"taskId": "1"}),
]


@pytest.mark.parametrize("policy", ["held", "on"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_answer_is_the_servers_own_to_the_last_field(
    stocked, gateway, both_launch, era, policy
):
    launch = both_launch(era)
    stocked({"ref": launch}, {"new_tools": policy})
    alone = RawHost([launch["command"], *launch["args"]], launch["env"])
    behind = gateway("--server", "ref")
    try:
        assert answers(behind, era) == answers(alone, era)
        assert behind.notes == alone.notes
    finally:
        alone.close()


def answers(host, era):
    """What a host is told: at first, of the stored lists, and once the server runs."""
    hello = "server/discover" if era == "modern" else "initialize"
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    found = []
    for method, params in [(hello, version), *REQUESTS, *REQUESTS]:
        try:
            answer = (host.modern if era == "modern" else host.request)(method, params)
            # how long a list may be kept is for the gateway to say: it changes with ticks
            found.append({k: v for k, v in answer.items() if k not in ("ttlMs", "cacheScope")})
        except RpcError as error:
            found.append((error.code, error.message, error.data))
    return found


def test_preconditions_hold_for_calls_of_one_server_too(stocked, gateway):
    rules = {"probe/args": ["after(probe/login)"], "echo": ["milestone(approved)"]}
    stocked({"probe": "ok"}, {"preconditions": rules})
    host = gateway("--server", "probe")
    host.initialize()
    assert {"args", "echo"} <= {tool["name"] for tool in host.tools()}  # the list is read once
    refused = host.call("args", {"x": 1})
    assert refused["isError"] and "probe/login was not called yet" in text(refused)
    host.call("login")
    assert not host.call("args", {"x": 1}).get("isError")
    assert "approved is not reached" in text(host.call("echo", {"text": "a"}))
    host.notify("notifications/toolcrib/milestone", {"name": "approved"})
    assert text(host.call("echo", {"text": "a"})) == "a"


def test_a_tool_of_others_is_neither_listed_nor_called(stocked, gateway):
    stocked({"probe": "ok"}, {"scopes": {"probe/echo": ["user:ann"]}, "principals": ["user:bob"]})
    host = gateway("--server", "probe")
    host.initialize()
    for _ in range(2):  # from the store, and as the running server lists
        assert "echo" not in {tool["name"] for tool in host.tools()}
        refused = host.call("echo", {"text": "a"})
        assert refused["isError"] and "it is not for this user" in text(refused)
        assert not host.call("pid").get("isError")


def test_words_for_the_hosts_own_search_stand_in_meta_where_the_profile_wants_them(
    stocked, gateway
):
    database = stocked({"probe": "ok"}, {"new_tools": "on", "gateway": {"search_hints": True}})
    query = "repeat after me like a parrot"
    db = open_store(database)
    with transaction(db):
        rows = [LabelRecord(0, query, ("probe/echo", "probe/pid"), "typed", 1.0)]
        queries.save_labels(db, rows)
        held = [one.id for one in tools.tools(db) if one.name == "pid"]
        profiles.set_on(db, profiles.by_name(db, "default").id, held, False)
    db.close()
    host = gateway("--server", "probe")
    host.initialize()

    def listed():
        return {one["name"]: one.get("_meta", {}) for one in host.tools()}

    before = listed()
    assert "parrot" in before["echo"]["anthropic/searchHint"].split()
    assert before["echo"]["x/y"] == 1
    assert "pid" not in before, "what is off stays off"
    host.call("echo", {"text": "hi"})  # from here on the running server lists
    assert listed()["echo"] == before["echo"]
