"""Both eras of the protocol on either side, bridged where they differ."""

import json

import pytest
from raw_host import MODERN, RpcError, text

pytestmark = pytest.mark.usefixtures("encoderless")
NAME = {"action": "accept", "content": {"name": "Ann"}}
MODEL = {"role": "assistant", "content": {"type": "text", "text": "MODEL"}, "model": "m"}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_revision_with_a_handshake_is_spoken(stocked, gateway, version):
    stocked({"probe": "ok"})
    assert gateway().initialize(version=version)["protocolVersion"] == version


def test_an_unknown_revision_gets_the_newest_with_a_handshake(stocked, gateway):
    stocked({"probe": "ok"})
    assert gateway().initialize(version="2099-01-01")["protocolVersion"] == "2025-11-25"


def test_a_stateless_host_discovers_lists_and_calls(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway()
    found = host.modern("server/discover")
    assert found["supportedVersions"] == [MODERN] and found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "toolcrib"
    listed = host.modern("tools/list")
    assert listed["ttlMs"] == 300_000 and listed["cacheScope"] == "private"
    called = host.modern(
        "tools/call",
        {"name": "call_tool", "arguments": {"name": "probe/echo", "arguments": {"text": "hi"}}},
    )
    assert text(called) == "hi" and called["resultType"] == "complete"


def test_a_stateless_request_of_another_version_is_refused_with_what_is_supported(gateway, stocked):
    stocked({"probe": "ok"})
    with pytest.raises(RpcError) as caught:
        gateway().modern("tools/list", **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})
    assert caught.value.code == -32022 and caught.value.data["supported"] == [MODERN]
    with pytest.raises(RpcError) as caught:
        gateway().request("server/discover")
    assert caught.value.code == -32602


def test_what_an_older_server_asks_becomes_an_input_required_result(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway("--server", "probe")
    host.modern("server/discover")
    for tool, answer, want in (("elicit", NAME, "Ann"), ("sample", MODEL, "MODEL")):
        asked = host.modern("tools/call", {"name": tool, "arguments": {}})
        assert asked["resultType"] == "input_required"
        (key, _), *_ = asked["inputRequests"].items()
        given = {"inputResponses": {key: answer}, "requestState": asked["requestState"]}
        done = host.modern("tools/call", {"name": tool, "arguments": {}, **given})
        assert want in text(done) and done["resultType"] == "complete"
    assert host.asked == []  # a stateless host gets no requests


def test_a_stateless_host_hears_of_changes_on_the_stream_it_opened(stocked, gateway):
    stocked({"probe": "ok"}, {"new_tools": "on"})
    host = gateway("--server", "probe")
    host.modern("server/discover")
    envelope = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["probe://doc/1"]}
    number = host.ask("subscriptions/listen", {"notifications": wanted, "_meta": envelope})
    host.until(lambda: host.noted("notifications/subscriptions/acknowledged"))
    host.modern("tools/call", {"name": "add_tool", "arguments": {}})
    host.modern("tools/call", {"name": "update", "arguments": {}})
    for method in ("notifications/tools/list_changed", "notifications/resources/updated"):
        (note, *_) = host.until(lambda m=method: host.noted(m))
        assert note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == number
    host.notify("notifications/cancelled", {"requestId": number})
    count = len(host.notes)
    host.modern("tools/call", {"name": "add_tool", "arguments": {}})
    assert len(host.notes) == count


def test_an_older_host_uses_a_stateless_server(stocked, gateway, modern_launch):
    stocked({"now": modern_launch}, {"new_tools": "on"})
    host = gateway("--server", "now", answers={"elicitation/create": NAME})
    host.initialize()
    assert [t["name"] for t in host.tools()] == ["ask_name", "patience", "announce", "show_meta"]
    assert text(host.call("ask_name")) == "hello Ann state-1"
    assert text(host.call("patience")) == "patient"
    meta = json.loads(text(host.call("show_meta")))
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "raw-host"
    host.call("announce")
    (note, *_) = host.until(lambda: host.noted("notifications/tools/list_changed"))
    assert "_meta" not in note.get("params", {})
    with pytest.raises(RpcError, match="unsupported"):
        gateway_without = gateway("--server", "now")
        gateway_without.initialize()
        gateway_without.call("ask_name")


def test_two_stateless_sides_exchange_results_untouched(stocked, gateway, modern_launch):
    stocked({"now": modern_launch}, {"new_tools": "on"})
    host = gateway("--server", "now")
    asked = host.modern("tools/call", {"name": "ask_name", "arguments": {}})
    assert asked["requestState"] == "state-1" and "who" in asked["inputRequests"]
    given = {"inputResponses": {"who": NAME}, "requestState": "state-1"}
    done = host.modern("tools/call", {"name": "ask_name", "arguments": {}, **given})
    assert text(done) == "hello Ann state-1"


# ---- servers of both eras, and old ones under a stateless host

LEVEL = "io.modelcontextprotocol/logLevel"
CAPABLE = "io.modelcontextprotocol/clientCapabilities"


@pytest.mark.parametrize("eras", ["both", "legacy"])
def test_a_stateless_host_is_given_a_servers_own_stateless_side_where_it_has_one(
    stocked, gateway, both_launch, eras
):
    stocked({"ref": both_launch(eras)}, {"new_tools": "on"})
    host = gateway("--server", "ref")
    named = {"name": "test_input_required_result_request_state", "arguments": {}}
    if eras == "legacy":
        with pytest.raises(RpcError, match="Unknown tool"):
            host.modern("tools/call", named)
        return
    asked = host.modern("tools/call", named)
    assert asked["requestState"].startswith("signed:")
    given = {"inputResponses": {"confirm": NAME}, "requestState": asked["requestState"]}
    assert "state-ok" in text(host.modern("tools/call", {**named, **given}))
    with pytest.raises(RpcError, match="was not made here"):
        host.modern("tools/call", {**named, "requestState": asked["requestState"] + "-changed"})


def test_a_host_with_a_handshake_is_given_the_handshake_side(stocked, gateway, both_launch):
    stocked({"ref": both_launch("both")}, {"new_tools": "on"})
    host = gateway("--server", "ref", answers={"elicitation/create": NAME})
    host.initialize()
    assert "accept" in text(host.call("test_elicitation", {"message": "Name?"}))
    assert host.asked[0]["method"] == "elicitation/create"


@pytest.mark.parametrize("how", ["dies", "silent"])
def test_an_old_server_that_cannot_stand_discovery_is_greeted_the_old_way(stocked, gateway, how):
    stocked({"probe": "ok"})
    stocked({"probe": f"no-discovery-{how}"})
    host = gateway("--server", "probe")
    called = host.modern("tools/call", {"name": "echo", "arguments": {"text": "still here"}})
    assert text(called) == "still here"
    host.modern("tools/call", {"name": "meta", "arguments": {}})


def test_what_the_stateless_revision_has_no_more_is_refused(stocked, gateway):
    stocked({"probe": "ok"})
    for host in (gateway(), gateway("--server", "probe")):
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            with pytest.raises(RpcError) as caught:
                host.modern(method, {"uri": "probe://doc/1", "level": "info"})
            assert caught.value.code == -32601


def test_a_stateless_host_gets_the_log_messages_that_a_request_asks_for(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway("--server", "probe")
    call = {"name": "log", "arguments": {}}
    for wanted, heard in ({}, 0), ({LEVEL: "error"}, 0), ({LEVEL: "debug"}, 1), ({}, 1):
        host.modern("tools/call", call, **wanted)
        assert len(host.noted("notifications/message")) == heard


def test_a_stateless_host_is_asked_only_what_it_says_it_can(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway("--server", "probe")
    refused = host.modern("tools/call", {"name": "elicit", "arguments": {}}, **{CAPABLE: {}})
    assert "cannot be asked" in text(refused) and refused["resultType"] == "complete"
    assert host.asked == []


def test_a_request_state_that_was_changed_is_refused(stocked, gateway):
    stocked({"probe": "ok"})
    host = gateway("--server", "probe")
    asked = host.modern("tools/call", {"name": "elicit", "arguments": {}})
    state = {"requestState": asked["requestState"] + "x"}
    with pytest.raises(RpcError) as caught:
        host.modern("tools/call", {"name": "elicit", "arguments": {}, **state})
    assert caught.value.code == -32602


def test_each_stateless_request_goes_on_with_its_own_envelope(stocked, gateway, modern_launch):
    stocked({"now": modern_launch}, {"new_tools": "on"})
    host = gateway("--server", "now")
    for own in ({CAPABLE: {"roots": {}}, "trace": "a"}, {CAPABLE: {"sampling": {}}, LEVEL: "info"}):
        seen = host.modern("tools/call", {"name": "show_meta", "arguments": {}}, **own)
        meta = json.loads(text(seen))
        assert {k: meta.get(k) for k in own} == own
        assert (LEVEL in meta) == (LEVEL in own)


def test_a_resource_that_is_not_there_has_the_code_of_the_hosts_revision(
    stocked, gateway, both_launch
):
    stocked({"old": both_launch("legacy")}, {"new_tools": "on"})
    for ask, code in (("modern", -32602), ("request", -32002)):
        host = gateway("--server", "old")
        if ask == "request":
            host.initialize()
        with pytest.raises(RpcError) as caught:
            getattr(host, ask)("resources/read", {"uri": "test://not-there"})
        assert caught.value.code == code
        assert caught.value.data == {"uri": "test://not-there"}


def test_in_through_mode_servers_of_every_era_stand_side_by_side(stocked, gateway, both_launch):
    eras = ("both", "legacy", "modern")
    stocked({one: both_launch(one) for one in eras}, {"new_tools": "on"})
    old, new = gateway(), gateway()
    old.initialize()
    for one in eras:
        said = "This is a simple text response for testing."
        assert text(old.run(f"{one}/test_simple_text")) == said
        named = {"name": f"{one}/test_simple_text", "arguments": {}}
        called = new.modern("tools/call", {"name": "call_tool", "arguments": named})
        assert text(called) == said and called["resultType"] == "complete"
    asks = {"name": "modern/test_input_required_result_elicitation", "arguments": {}}
    call = {"name": "call_tool", "arguments": asks}
    asked = new.modern("tools/call", call)
    assert set(asked["inputRequests"]) == {"user_name"}
    done = new.modern("tools/call", {**call, "inputResponses": {"user_name": NAME}})
    assert "state-ok" in text(done)


def test_a_stateless_server_that_was_never_read_describes_itself_to_an_older_host(
    stocked, gateway, both_launch
):
    stocked({"now": {"command": "/nonexistent/server", "args": []}})
    launch = both_launch("modern")
    host = gateway("--server", "now", "--", "env", "SERVER_ERAS=modern", *command(launch))
    found = host.initialize(version="2025-06-18")
    assert found["protocolVersion"] == "2025-06-18"
    assert found["serverInfo"]["name"] == "conformance-server"
    assert found["capabilities"]["prompts"] == {"listChanged": True}


def command(launch):
    return [launch["command"], *launch["args"]]


def test_an_older_host_hears_of_a_stateless_servers_resources(stocked, gateway, both_launch):
    stocked({"now": both_launch("modern")}, {"new_tools": "on"})
    host = gateway("--server", "now")
    host.initialize()
    assert host.request("resources/subscribe", {"uri": "test://watched-resource"}) == {}
    host.call("test_trigger_tool_change")
    host.until(lambda: host.noted("notifications/tools/list_changed"))
    # a new tool is listed once its text was looked through
    host.until(lambda: "late_tool_0" in {tool["name"] for tool in host.tools()}, 60)
    host.call("test_trigger_prompt_change")
    (note, *_) = host.until(lambda: host.noted("notifications/prompts/list_changed"))
    assert "_meta" not in note.get("params", {})
    assert host.request("resources/unsubscribe", {"uri": "test://watched-resource"}) == {}
