"""One running server behind several hosts: shared only where that is right, and nothing leaks."""

import json

import pytest

from app.gateway.backend.shared_server import REFUSED
from app.gateway.sharing import PER_HOST, PER_SESSION, SHARED, decide
from store import servers, sharing
from store.connection import open_store, transaction
from store.serving import ServerRow

pytestmark = pytest.mark.usefixtures("encoderless")


def row(name="docs", args=(), capabilities=None, info=None) -> ServerRow:
    spec = json.dumps({"transport": "stdio", "command": "x", "args": list(args)})
    return ServerRow(1, name, True, False, "", spec, {}, info or {}, capabilities or {}, "", 1.0)


READS = json.dumps({"name": "a", "annotations": {"readOnlyHint": True}})
WRITES = json.dumps({"name": "b", "annotations": {"readOnlyHint": False}})
SILENT = json.dumps({"name": "c"})


@pytest.mark.parametrize(
    ("server", "tools", "seen", "choice", "reason"),
    [
        (row(), [READS, READS], (), SHARED, "only reads"),
        (row(), [READS, WRITES], (), PER_SESSION, "Not every tool"),
        (row(), [READS, SILENT], (), PER_SESSION, "Not every tool"),
        (row(), [], (), PER_SESSION, "not known"),
        (row("playwright"), [READS], (), PER_SESSION, "state (playwright)"),
        (row(args=["-y", "server-memory"]), [READS], (), PER_SESSION, "state (memory)"),
        (row(args=["-y", "@notionhq/notion-mcp-server"]), [WRITES], (), SHARED, "keep nothing"),
        (row(args=["server-files", "/srv/sandbox"]), [READS], (), SHARED, "only reads"),
        (row(info={"name": "A shell"}), [READS], (), PER_SESSION, "state (shell)"),
        (row(), [READS], ("roots/list",), PER_SESSION, "asks hosts for roots/list"),
        (
            row(capabilities={"resources": {"subscribe": True}}),
            [READS],
            (),
            PER_SESSION,
            "subscriptions",
        ),
    ],
)
def test_a_server_is_shared_by_itself_only_where_nothing_speaks_against_it(
    server, tools, seen, choice, reason
):
    decision = decide(server, tools, requests_seen=seen)
    assert decision.choice == choice and reason in decision.reason and not decision.by_user


@pytest.mark.parametrize(
    ("command", "args", "known"),
    [
        ("/srv/bin/mcp-server-git", ["--repository", "/x"], True),
        ("C:\\bin\\mcp-server-git.exe", [], True),
        ("uvx", ["mcp-server-git"], True),
        ("uvx", ["mcp-server-git==2.1.0"], True),
        ("uvx", ["mcp-server-time@latest", "--local-timezone=UTC"], True),
        ("npx", ["-y", "@modelcontextprotocol/server-github@1.0"], True),
        ("/srv/bin/mcp-server-github", [], False),
        ("uvx", ["mcp-server-gitlab"], False),
        ("uvx", ["mcp-server-git-extra"], False),
        ("uvx", ["mcp-server-timetracker"], False),
        ("npx", ["-y", "evil-mcp-server-git"], False),
        ("npx", ["-y", "@evil/mcp-server-git"], False),
        ("npx", ["--package=evil", "@modelcontextprotocol/server-github"], False),
        ("uvx", ["--from", "git+https://evil.example/x", "mcp-server-git"], False),
        ("python", ["/srv/mcp-server-git/main.py"], False),
    ],
)
def test_only_the_exact_package_is_known_to_keep_nothing(command, args, known):
    server = row(args=args)
    server.spec = json.dumps({"transport": "stdio", "command": command, "args": args})
    decision = decide(server, [WRITES])
    assert (decision.choice == SHARED) == ("keep nothing" in decision.reason) == known


@pytest.mark.parametrize("choice", [SHARED, PER_HOST, PER_SESSION])
def test_the_users_word_counts_before_everything(choice):
    decision = decide(row("playwright"), [WRITES], wish=choice, requests_seen=("roots/list",))
    assert decision.choice == choice and decision.by_user


@pytest.fixture
def choose(home):
    """choose("probe", "shared"): the user's word, kept in the store."""

    def keep(name: str, choice: str) -> None:
        db = open_store(home / "toolcrib.db")
        with transaction(db):
            sharing.choose(db, servers.by_name(db, name).id, choice)
        db.close()

    return keep


def text(result) -> str:
    return result["content"][0]["text"]


def pids(hosts) -> list[str]:
    return [text(host.call("pid")) for host in hosts]


def hang(host, log) -> int:
    """Ask for what never ends; the number, once the server has it."""
    number = host.ask("tools/call", {"name": "hang", "arguments": {}})
    host.until(lambda: any('"hang"' in json.dumps(entry) for entry in log("probe")))
    return number


def started(adapter, count, **more):
    hosts = [adapter("--server", "probe", **more) for _ in range(count)]
    for host in hosts:
        host.initialize()
    return hosts


def test_by_default_each_session_has_a_server_of_its_own(adapter, stocked):
    stocked({"probe": "ok"})
    assert len(set(pids(started(adapter, 2)))) == 2


def test_a_shared_server_is_one_process_for_all_hosts(adapter, stocked, choose, control):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    hosts = started(adapter, 3)
    assert len(set(pids(hosts))) == 1
    (server,) = control("status")["shared"]
    assert server["sessions"] == 3 and server["megabytes"] > 0


def test_one_per_host_is_shared_by_the_sessions_of_one_parent(adapter, stocked, choose):
    stocked({"probe": "ok"})
    choose("probe", PER_HOST)
    assert len(set(pids(started(adapter, 2)))) == 1


def test_another_environment_means_another_process(adapter, stocked, choose):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    hosts = [*started(adapter, 1), *started(adapter, 1, NODE_OPTIONS="--no-warnings")]
    assert len(set(pids(hosts))) == 2


def test_progress_and_log_messages_reach_only_the_session_that_caused_them(
    adapter, stocked, choose
):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    one, two = started(adapter, 2)
    meta = {"_meta": {"progressToken": "same"}}
    one.call("progress", **meta)
    one.call("log")
    one.until(lambda: one.noted("notifications/progress"))
    one.until(lambda: one.noted("notifications/message"))
    assert {n["params"]["progressToken"] for n in one.noted("notifications/progress")} == {"same"}
    two.call("progress", **meta)  # whatever was on its way to it has come by now
    assert len(two.noted("notifications/progress")) == 3
    assert two.noted("notifications/message") == []
    assert len(one.noted("notifications/progress")) == 3


def test_a_servers_question_goes_to_the_host_whose_call_caused_it_else_it_is_refused(
    adapter, stocked, choose, log
):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    reply = {"elicitation/create": {"action": "accept", "content": {"name": "one"}}}
    one = adapter("--server", "probe", answers=reply)
    other = {"elicitation/create": {"action": "accept", "content": {"name": "two"}}}
    two = adapter("--server", "probe", answers=other)
    for host in (one, two):
        host.initialize()
    assert "one" in text(one.call("elicit")) and two.asked == []
    assert "two" in text(two.call("elicit"))
    hanging = hang(one, log)
    answer = text(two.call("elicit"))
    assert REFUSED in answer and len(one.asked) == 1 and len(two.asked) == 1
    assert not one.answered(hanging)


def test_a_servers_question_to_a_host_that_is_gone_is_answered(adapter, stocked, choose, log):
    """The server lives on for others, and may wait for that answer before it does anything."""
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    (two,) = started(adapter, 1)
    one = adapter("--server", "probe", answers={"elicitation/create": None})
    one.initialize()
    one.ask("tools/call", {"name": "elicit", "arguments": {}})
    assert one.until(lambda: one.asked)[0]["method"] == "elicitation/create"
    one.close()
    two.until(lambda: any(e["ev"] == "recv" and not e["method"] for e in log("probe")), 8)


def test_one_hosts_cancellation_and_end_leave_the_other_alone(adapter, stocked, choose, log):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    one, two = started(adapter, 2)
    number = hang(one, log)
    one.notify("notifications/cancelled", {"requestId": number})
    slow = two.ask("tools/call", {"name": "sleep", "arguments": {"ms": 300}})
    one.close()
    assert text(two.wait(slow)["result"]) == "slept"
    assert text(two.call("echo", {"text": "still here"})) == "still here"


def test_a_crash_of_a_shared_server_hits_its_calls_and_the_next_call_starts_it_again(
    adapter, stocked, choose, log
):
    stocked({"probe": "ok"})
    choose("probe", SHARED)
    one, two = started(adapter, 2)
    pids([one, two])
    hanging = hang(one, log)
    crashed = two.wait(two.ask("tools/call", {"name": "crash", "arguments": {}}))
    assert "stopped" in json.dumps(crashed) and "stopped" in json.dumps(one.wait(hanging))
    assert text(one.call("echo", {"text": "again"})) == "again"


def test_what_a_server_asked_of_a_host_is_remembered_and_speaks_against_sharing(
    adapter, stocked, home, monkeypatch
):
    stocked({"probe": "ok"})
    (host,) = started(adapter, 1)
    host.call("elicit")
    db = open_store(home / "toolcrib.db")
    number = servers.by_name(db, "probe").id
    seen = host.until(lambda: sharing.of_server(db, number)[1])
    db.close()
    assert seen == ("elicitation/create",)
