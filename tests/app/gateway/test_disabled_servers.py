"""A server that the user disabled: its processes end, nothing starts it, its tools say why."""

import contextlib

import psutil
import pytest
from raw_host import RawHost, RpcError, text

from app.catalog.catalog import set_disabled
from store import servers
from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")
WHY = "its server is disabled in Toolcrib"


@pytest.fixture
def disable(home):
    def change(disabled: bool) -> None:
        with contextlib.closing(open_store(str(home / "toolcrib.db"))) as db:
            set_disabled(db, [servers.by_name(db, "probe").id], disabled)

    return change


def starts(log) -> int:
    return len([event for event in log("probe") if event["ev"] == "start"])


def refused(host: RawHost, *call) -> bool:
    answer = host.call(*call)
    return bool(answer.get("isError")) and WHY in text(answer)


def test_a_pruned_server_that_is_disabled_ends_and_comes_back(stocked, gateway, disable, log):
    stocked({"probe": "ok"}, {"new_tools": "on"})
    host = gateway("--server", "probe")
    host.initialize()
    pid = int(text(host.call("pid")))
    before = starts(log)
    disable(True)
    host.until(lambda: refused(host, "echo", {"text": "hi"}), 30)
    host.until(lambda: not psutil.pid_exists(pid), 30)
    assert host.tools() == []
    assert host.request("prompts/list")["prompts"] == []
    with pytest.raises(RpcError):
        host.request("resources/read", {"uri": "probe://doc/1"})
    assert refused(host, "no_such_tool") and starts(log) == before
    disable(False)
    host.until(host.tools, 30)
    assert not host.call("echo", {"text": "hi"}).get("isError")
    assert starts(log) == before + 1


def test_a_disabled_server_is_not_started_for_a_host_that_begins(stocked, gateway, disable, log):
    stocked({"probe": "ok", "other": "ok"}, {"new_tools": "on"})
    disable(True)
    before = starts(log)
    host = gateway()
    host.initialize()
    assert refused(host, "call_tool", {"name": "probe/echo", "arguments": {"text": "hi"}})
    assert not host.call("call_tool", {"name": "other/echo", "arguments": {"text": "x"}}).get(
        "isError"
    )
    names = {prompt["name"] for prompt in host.request("prompts/list")["prompts"]}
    assert names and not any(name.startswith("probe") for name in names)
    assert starts(log) == before
