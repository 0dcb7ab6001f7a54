"""A damaged row of the store: the rest is served, every line is JSON, and the damage is named."""

import contextlib

import pytest
from raw_host import text

from store import events
from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")
NO_OBJECTS = ["{broken", "", "[]", "null", '"text"', "{'name': 'echo'}"]


@pytest.fixture
def damage(home):
    """damage("tools", "raw", "{broken", "name = 'echo'") overwrites what is stored."""

    def change(table: str, column: str, value: str, where: str = "1") -> None:
        with contextlib.closing(open_store(str(home / "toolcrib.db"))) as db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))

    return change


def names(tools) -> set[str]:
    return {tool["name"] for tool in tools}


@pytest.mark.parametrize("value", NO_OBJECTS)
def test_the_pruned_list_leaves_out_a_damaged_tool_and_names_it(
    stocked, gateway, damage, home, value
):
    stocked({"probe": "ok"})
    host = gateway("--server", "probe")
    host.initialize()
    whole = names(host.tools())
    host.close()
    damage("tools", "raw", value, "name = 'echo'")
    host = gateway("--server", "probe")
    host.initialize()
    assert names(host.tools()) == whole - {"echo"}
    refused = host.call("echo", {"text": "hi"})
    assert refused["isError"]
    assert "Its stored definition is damaged; read its server again." in text(refused)
    assert not host.call("pid").get("isError")
    assert names(host.tools()) == whole - {"echo"}  # of the running server, too
    host.close()
    with contextlib.closing(open_store(str(home / "toolcrib.db"))) as db:
        kept = [e.problem for e in events.recent(db, 100) if e.kind == "list"]
    assert "Left out, as damaged in the store: echo." in kept


@pytest.mark.parametrize("pool", ["names", "descriptions", "none"])
def test_the_menu_leaves_out_a_damaged_tool_that_is_pinned_or_listed(
    stocked, gateway, damage, pool
):
    stocked({"probe": "ok"}, {"gateway": {"pool": pool, "promote": True}})
    damage("profile_tools", "pinned", "1")
    damage("tools", "raw", "{broken", "name = 'echo'")
    host = gateway()
    assert "error" not in host.initialize()
    assert {"search_tools", "call_tool"} <= names(host.tools())
    assert not any("echo" in name for name in names(host.tools()))
    refused = host.call("call_tool", {"name": "probe/echo", "arguments": {"text": "hi"}})
    assert refused["isError"]
    assert "Its stored definition is damaged" in text(refused)
    assert "probe/pid" in text(host.call("search_tools", {"query": "pid"}))
    assert not host.call("call_tool", {"name": "probe/pid", "arguments": {}}).get("isError")


@pytest.mark.parametrize(
    "column",
    ["taken_with", "server_info", "capabilities", "prompts", "resources", "templates", "spec"],
)
@pytest.mark.parametrize("mode", [["--server", "probe"], []], ids=["pruned", "through"])
def test_a_damaged_text_of_a_server_leaves_its_tools(stocked, gateway, damage, column, mode):
    stocked({"probe": "ok", "other": "ok"})
    damage("servers", column, "{broken", "name = 'probe'")
    host = gateway(*mode)
    host.initialize()
    assert host.tools()
    call = ("echo", {"text": "hi"})
    if not mode:
        call = ("call_tool", {"name": "probe/echo", "arguments": {"text": "hi"}})
    answer = host.call(*call)
    if column == "spec":
        assert answer["isError"]
        assert "What is stored of its command is damaged." in text(answer)
    else:
        assert not answer.get("isError")
    if not mode:
        host.request("prompts/list")
        host.request("resources/list")
        other = host.call("call_tool", {"name": "other/echo", "arguments": {"text": "x"}})
        assert not other.get("isError")


def test_instructions_are_kept_back_where_it_cannot_be_known_whether_they_are_held(
    stocked, gateway, damage
):
    stocked({"probe": "ok"})
    damage("servers", "instructions", "Call echo first.", "name = 'probe'")
    host = gateway("--server", "probe")
    assert host.initialize().get("instructions") == "Call echo first."
    host.close()
    damage("servers", "taken_with", "{broken", "name = 'probe'")
    host = gateway("--server", "probe")
    assert not host.initialize().get("instructions")


@pytest.mark.parametrize("mode", [["--server", "probe"], []], ids=["pruned", "through"])
def test_damaged_settings_of_a_profile_let_nothing_through_and_are_named(
    stocked, gateway, damage, mode
):
    stocked({"probe": "ok"})
    damage("profiles", "settings", "{broken")
    host = gateway(*mode)
    host.initialize()
    refused = host.call("echo", {"text": "hi"})
    assert refused["isError"]
    assert "What is stored of the profile default is damaged." in text(refused)
    assert "toolcrib doctor --repair" in text(refused)
