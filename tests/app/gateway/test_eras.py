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
    assert listed["ttlMs"] == 0 and listed["cacheScope"] == "private"
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
