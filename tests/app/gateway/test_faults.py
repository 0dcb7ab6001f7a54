"""Nothing a bad server does stops the gateway or the other servers."""

import json
import time

import pytest
from raw_host import text

from store import events
from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")


@pytest.fixture
def beside(stocked, gateway):
    """A gateway over a good server and a bad one."""

    def start(mode, **settings):
        stocked({"good": "ok", "bad": mode}, settings)
        host = gateway()
        host.initialize()
        return host

    return start


def assert_good(host):
    assert text(host.run("good/echo", {"text": "fine"})) == "fine"


class Bad:
    """A bad server behind a gateway, called the same way in both ways of serving."""

    def __init__(self, host, way):
        self.host = host
        self.way = way

    def ask(self, tool, arguments=None):
        named = {"name": tool, "arguments": arguments or {}}
        if self.way == "through":
            named = {"name": "call_tool", "arguments": {**named, "name": f"bad/{tool}"}}
        return self.host.ask("tools/call", named)

    def call(self, tool, arguments=None, seconds=30):
        return self.host.wait(self.ask(tool, arguments), seconds)["result"]

    def assert_survived(self):
        """The server answers again, and in through mode the one beside it did all along."""
        if self.way == "through":
            assert_good(self.host)
        assert text(self.call("echo", {"text": "again"})) == "again"


@pytest.fixture(params=["through", "pruned"])
def bad(request, stocked, gateway):
    def start(mode="ok"):
        stocked({"good": "ok", "bad": mode}, {"new_tools": "on"})
        host = gateway(*(["--server", "bad"] if request.param == "pruned" else []))
        host.initialize()
        return Bad(host, request.param)

    return start


def test_a_server_that_exits_is_one_clear_error_with_its_last_words(beside):
    host = beside("exit")
    answer = host.run("bad/echo", {"text": "x"})
    assert answer["isError"]
    assert text(answer) == (
        "bad could not be started. It exited with code 3. It last printed: probe: no API key"
    )
    assert_good(host)


def test_a_server_that_hangs_is_given_up_while_others_answer(stocked, gateway):
    stocked({"good": "ok", "bad": "ok"})
    stocked({"bad": "hang"})  # read once, hangs now
    host = gateway()
    host.initialize()
    number = host.ask(
        "tools/call",
        {"name": "call_tool", "arguments": {"name": "bad/echo", "arguments": {"text": "x"}}},
    )
    assert_good(host)
    assert not host.answered(number)
    answer = host.wait(number, 25)["result"]
    assert answer["isError"] and "did not answer within" in text(answer)
    began = time.monotonic()
    assert "tried again in" in text(host.run("bad/echo", {"text": "x"}))
    assert time.monotonic() - began < 2


def test_a_slow_server_is_waited_for_and_a_banner_is_skipped(stocked, gateway):
    stocked({"slow": "slow", "loud": "banner"})
    host = gateway()
    host.initialize()
    assert text(host.run("slow/echo", {"text": "a"})) == "a"
    assert text(host.run("loud/echo", {"text": "b"})) == "b"


def test_a_missing_command_says_so(stocked, gateway):
    stocked({"gone": {"command": "/nonexistent/server", "args": []}})
    host = gateway()
    host.initialize()
    answer = text(host.run("gone/anything"))
    assert answer.startswith("gone could not be started. /nonexistent/server was not found.")


def test_a_flood_ends_the_server_and_not_the_gateway(bad):
    server = bad("flood")
    server.call("echo", {"text": "x"})
    server.host.until(lambda: "flooded" in text(server.call("hang")), 30)
    assert server.host.request("ping") == {}
    if server.way == "through":
        assert_good(server.host)


def test_fifty_megabytes_arrive_whole_in_pruned_mode_and_cut_through(stocked, gateway):
    stocked({"good": "ok"})
    host = gateway("--server", "good")
    host.initialize()
    assert len(text(host.call("big", {"kb": 50 * 1024}))) == 50 * 1024 * 1024
    host.close()
    host = gateway()
    host.initialize()
    assert len(text(host.run("good/big", {"kb": 50 * 1024}))) < 110_000
    assert_good(host)


def test_invalid_utf8_is_mended_so_that_the_answer_arrives(bad):
    server = bad()
    assert text(server.call("bad_utf8")) == "a\ufffd\ufffdz"
    server.assert_survived()


def test_an_answer_that_comes_twice_is_passed_on_once(bad):
    server = bad()
    assert text(server.call("twice")) == "first"
    server.assert_survived()
    assert server.host.unsolicited == []


def test_an_answer_to_nothing_and_a_line_that_is_no_message_are_dropped(bad):
    server = bad()
    assert text(server.call("strays")) == "after the strays"
    server.assert_survived()
    assert server.host.unsolicited == []


def test_a_call_that_is_never_answered_blocks_nothing_else(bad):
    server = bad()
    number = server.ask("hang")
    server.assert_survived()
    assert not server.host.answered(number)


def test_a_schema_that_lies_is_believed_until_the_server_is_asked(beside):
    host = beside("ok")
    assert json.loads(text(host.run("bad/liar", {"n": "x"})))["inputSchema"]
    assert text(host.run("bad/liar", {"n": 1})) == "took {'n': 1}"


def test_a_schema_that_lies_is_the_servers_own_affair_in_pruned_mode(stocked, gateway):
    stocked({"bad": "ok"})
    host = gateway("--server", "bad")
    host.initialize()
    assert text(host.call("liar", {"n": "x"})) == "took {'n': 'x'}"


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/gone"}}},
        {"type": "object", "properties": {"x": {"pattern": "("}}},
        {"type": "nonsense", "required": "x"},
        {"type": "object", "$ref": "#"},
    ],
)
def test_a_schema_that_no_validator_takes_leaves_the_judging_to_the_server(
    stocked, gateway, probe_command, raw
):
    tool = {"name": "odd", "description": "An odd tool", "inputSchema": raw}
    launch = {
        "command": probe_command[0],
        "args": probe_command[1:],
        "env": {"PROBE_TOOLS": json.dumps([tool])},
    }
    stocked({"bad": launch}, {"new_tools": "on"})
    through = gateway()
    through.initialize()
    assert text(through.run("bad/odd", {"x": 1})) == "odd took {'x': 1}"
    pruned = gateway("--server", "bad")
    pruned.initialize()
    assert next(t for t in pruned.tools() if t["name"] == "odd") == tool
    assert text(pruned.call("odd", {"x": 1})) == "odd took {'x': 1}"


def test_tools_that_change_in_the_middle_of_a_session_are_followed(bad):
    server = bad()
    server.call("add_tool")
    if server.way == "pruned":
        server.host.until(lambda: "zebra_0" in {t["name"] for t in server.host.tools()})
    else:
        server.host.until(lambda: "zebra_0" in server.host.search("count zebras"))
    assert text(server.call("zebra_0", {"text": "x"})) == "three zebras"
    server.call("drop_tools")
    server.host.until(lambda: "Unknown tool" in str(server.host.wait(server.ask("zebra_0"))))
    server.assert_survived()


def test_a_crash_loses_no_answer_and_the_next_call_restarts(beside):
    host = beside("ok")
    host.run("bad/echo", {"text": "warm"})
    sleeping = [
        host.ask(
            "tools/call",
            {"name": "call_tool", "arguments": {"name": "bad/sleep", "arguments": {"ms": 60000}}},
        )
        for _ in range(5)
    ]
    answer = host.run("bad/crash")
    assert "sk-0123456789abcdef" not in text(answer) and "about to crash" in text(answer)
    for number in sleeping:
        assert "bad stopped while it worked" in text(host.wait(number)["result"])
    assert text(host.run("bad/echo", {"text": "back"})) == "back"
    assert_good(host)


def test_junk_from_the_host_is_answered_and_survived(beside):
    host = beside("ok")
    host.send_raw(b"not json\n[]\n\n")
    host.send_raw(b'{"jsonrpc":"2.0","id":"odd","method":7}\n')
    host.until(lambda: len(host.unsolicited) >= 3)
    codes = [m["error"]["code"] for m in host.unsolicited]
    assert codes == [-32700, -32700, -32600]
    assert host.request("ping") == {}
    assert_good(host)


# ---- the store


@pytest.mark.parametrize("server", [(), ("--server", "probe")])
def test_without_a_database_it_initializes_and_every_call_says_why(gateway, server):
    host = gateway(*server)
    assert "does not exist yet" in host.initialize()["instructions"]
    host.tools()
    answer = host.call("call_tool", {"name": "a/b"})
    assert answer["isError"] and "does not exist yet" in text(answer)


def test_an_unknown_profile_a_newer_and_a_damaged_database_say_so(stocked, gateway, home):
    database = stocked({"probe": "ok"})
    host = gateway("--profile", "nobody")
    host.initialize()
    assert "no profile called nobody" in text(host.run("probe/echo"))
    host.close()  # nobody else has the database open
    db = open_store(database)
    db.pragma("user_version", 999)
    db.close()
    host = gateway()
    host.initialize()
    assert "newer Toolcrib" in text(host.run("probe/echo"))
    host.close()
    database.write_bytes(b"this is no database, but long enough to be looked at" * 100)
    for beside in home.glob("toolcrib.db-*"):
        beside.unlink()
    host = gateway()
    host.initialize()
    assert "damaged" in text(host.run("probe/echo"))


def test_a_locked_database_is_served_as_soon_as_it_is_free(stocked, gateway):
    database = stocked({"probe": "ok"})
    db = open_store(database)
    db.pragma("locking_mode", "exclusive")
    db.execute("BEGIN EXCLUSIVE")
    host = gateway()
    host.initialize()
    locked = host.run("probe/echo", {"text": "x"})
    db.execute("COMMIT")
    db.close()
    assert locked["isError"] and "another process" in text(locked).lower()
    assert text(host.run("probe/echo", {"text": "x"})) == "x"


def test_a_limit_on_a_call_ends_it_and_tells_the_server(stocked, gateway, log):
    stocked({"probe": "ok"}, {"gateway": {"call_seconds": 1}})
    host = gateway()
    host.initialize()
    answer = host.run("probe/hang")
    assert answer["isError"] and text(answer) == "probe did not answer within 1 s."
    host.until(lambda: any(e.get("method") == "notifications/cancelled" for e in log("probe")))
    assert text(host.run("probe/echo", {"text": "after"})) == "after"


def test_what_a_server_printed_is_kept_for_the_window_without_secrets(beside, home):
    host = beside("ok")
    host.run("bad/echo", {"text": "x"})
    host.run("bad/crash")
    host.close()
    db = open_store(home / "toolcrib.db")
    found = [e for e in events.recent(db, 50) if e.detail.get("stderr")]
    db.close()
    assert "about to crash with key" in found[0].detail["stderr"]
    assert "sk-0123456789abcdef" not in str(found)
