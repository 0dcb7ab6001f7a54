"""The team's gateway over HTTP, started by its one command, in both revisions."""

import json
import os
import re
import subprocess
import sys

from tests.fakes.team_fixtures import Connect
from tests.fakes.team_process import TrialProcess
from tests.fakes.web_client import WebClient


def test_a_session_lists_searches_and_calls(connect: Connect) -> None:
    client = connect()
    hello = client.initialize().last["result"]
    assert hello["serverInfo"]["name"] == "toolcrib-team"
    listed = [tool["name"] for tool in client.request("tools/list").last["result"]["tools"]]
    assert listed == ["search_tools", "call_tool", "notes__search_notes"]
    text = client.call("search_tools", {"query": "create a note"}).text
    first = [re.split("[(:]", line)[0] for line in text.splitlines()[:2]]  # a pinned one may lead
    assert "notes/create_note" in first, text
    made = client.call(
        "call_tool", {"name": "notes/create_note", "arguments": {"title": "a", "body": "b"}}
    )
    assert not made.last["result"].get("isError"), made.text
    assert '"a"' in client.call("call_tool", {"name": "notes/list_notes"}).text
    assert "a" in client.call("notes__search_notes", {"query": "a"}).text


def test_the_stateless_revision_lists_and_calls(connect: Connect) -> None:
    client = connect()
    found = client.ask("server/discover").last["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    listed = client.ask("tools/list").last["result"]
    assert listed["cacheScope"] == "private"
    called = client.ask(
        "tools/call", {"name": "call_tool", "arguments": {"name": "files/list_folder"}}
    )
    assert called.status == 200 and called.last["result"]["resultType"] == "complete"


def test_arguments_that_do_not_fit_get_the_schema_and_nothing_is_called(connect: Connect) -> None:
    given = {"name": "notes/create_note", "arguments": {"name": 1}}
    text = connect().ask("tools/call", {"name": "call_tool", "arguments": given}).text
    refused = json.loads(text)
    assert refused["problems"] and "title" in refused["arguments"]["properties"]


def test_a_tool_that_is_off_is_as_one_that_does_not_exist(connect: Connect) -> None:
    answers = [
        json.loads(
            connect().ask("tools/call", {"name": "call_tool", "arguments": {"name": n}}).text
        )
        for n in ("notes/nothing", "nothing/at_all")
    ]
    assert {answer["error"] for answer in answers} == {"there is no such tool"}


def test_a_session_id_is_of_one_member_and_one_profile(connect: Connect) -> None:
    mine, other = connect("sam"), connect("robin")
    mine.initialize()
    other.headers["Mcp-Session-Id"] = mine.headers["Mcp-Session-Id"]
    assert other.request("tools/list").status == 404
    everything = connect("sam", "/mcp")
    everything.headers["Mcp-Session-Id"] = mine.headers["Mcp-Session-Id"]
    assert everything.request("tools/list").status == 404


def test_health_needs_no_token_and_metrics_are_off_without_one(running_trial: TrialProcess) -> None:
    client = WebClient(running_trial.port, "", "/healthz")
    assert client.send("GET", Authorization=None).last == {"status": "ok"}
    client.path = "/readyz"
    assert client.send("GET", Authorization=None).last == {"status": "ready"}
    client.path = "/metrics"
    assert client.send("GET").status == 404


def test_what_the_trial_prints_lets_an_admin_run_the_other_verbs(
    running_trial: TrialProcess,
) -> None:
    (line,) = (line for line in running_trial.printed.splitlines() if "export " in line)
    verb = f"{sys.executable} -m app.team_server.program"
    ran = subprocess.run(
        ["sh", "-c", f"{line}\n{verb} check && {verb} server list --organisation sample-team"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "The team server can run" in ran.stdout and "notes  sample-notes" in ran.stdout
