"""A server that the user edits while a host uses it: the next call starts it as it is by then."""

import contextlib
import time
from dataclasses import replace

import psutil
import pytest
from raw_host import text

from app.core.paths import Paths
from app.policy.approvals import decide, waiting
from app.secrets.secret_store import SecretStore
from store import servers
from store.connection import open_store, transaction
from store.records import ALLOWED

pytestmark = pytest.mark.usefixtures("encoderless")


@pytest.fixture
def edit(home):
    """Adds an argument to the server's command, as an edit behind Toolcrib does."""

    def change(*more: str) -> None:
        with contextlib.closing(open_store(str(home / "toolcrib.db"))) as db:
            server = servers.by_name(db, "probe")
            spec = replace(server.spec, key=f"edited-{more}", args=(*server.spec.args, *more))
            store = SecretStore.open(Paths(home, home))
            store.put(spec.key, store.get(server.spec.key))
            with transaction(db):
                servers.place(db, server.entries[0], spec, name="probe", trusted=True)

    return change


def pid_of(host) -> int:
    answer = host.call("call_tool", {"name": "probe/pid", "arguments": {}})
    assert not answer.get("isError"), answer
    return int(text(answer).split()[0])  # a hint may follow


def test_the_next_call_goes_to_the_edited_server_and_the_earlier_one_ends(stocked, gateway, edit):
    stocked({"probe": "ok"}, {"new_tools": "on"})
    host = gateway()
    host.initialize()
    first = pid_of(host)
    assert pid_of(host) == first
    edit("--edited")
    host.until(lambda: pid_of(host) != first, 30)
    second = pid_of(host)
    assert "--edited" in psutil.Process(second).cmdline()
    host.until(lambda: not psutil.pid_exists(first), 60)
    assert pid_of(host) == second


def test_a_yes_that_comes_after_an_edit_does_not_start_the_earlier_server(
    stocked, gateway, edit, log
):
    database = stocked({"probe": "ok"}, {"new_tools": "on", "gateway": {"approve": ["*/echo"]}})
    host = gateway()
    host.initialize()
    first = pid_of(host)
    named = {"name": "probe/echo", "arguments": {"text": "hi"}}
    waits = host.ask("tools/call", {"name": "call_tool", "arguments": named})
    with contextlib.closing(open_store(database)) as db:
        (row,) = host.until(lambda: waiting(db, time.time()))
        edit("--edited")
        host.until(lambda: pid_of(host) != first, 30)
        second = pid_of(host)
        host.until(lambda: not psutil.pid_exists(first), 60)
        decide(db, row.id, ALLOWED, time.time())
    late = "The server was changed or removed meanwhile; probe was not called. Ask again."
    assert text(host.wait(waits)["result"]) == late
    assert pid_of(host) == second
    calls = [m["params"]["name"] for m in log("probe") if m.get("method") == "tools/call"]
    assert "echo" not in calls
