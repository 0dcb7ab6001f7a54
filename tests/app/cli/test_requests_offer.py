"""Requests for tools that have none: offered after a scan, written by the user's own `claude`."""

import json
import os
import sys
from pathlib import Path

import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.core.settings import Settings
from app.indexing.request_writer import FOUND_WITH, FOUND_WITHOUT
from store import requests, tools

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))
import claude_program

FAKES = Path(__file__).parents[2] / "fakes"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program is a script")


@pytest.fixture
def log(ctx, tmp_path, monkeypatch):
    """A machine with `claude`; the file of what it was asked."""
    file = tmp_path / "claude.log"
    for name, value in claude_program.install(tmp_path / "bin", file).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    ctx.paths.create()
    return file


@pytest.fixture
def scan(tmp_path, capsys):
    """Takes a server of so many tools and reads it; what the command printed beside its answer."""

    def take(name: str, count: int) -> str:
        command = {"command": sys.executable, "args": ["-S", "-E", str(FAKES / "fake_server.py")]}
        entry = {**command, "env": {"FAKE_MODE": f"tools={count}"}}
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"mcpServers": {name: entry}}), encoding="utf-8")
        capsys.readouterr()
        assert run(["import", str(file), "--scan", "--yes", "--json"]) == 0
        return capsys.readouterr().err

    return take


def sources(ctx: AppContext) -> dict[str, set[str]]:
    """Who wrote each tool's requests."""
    db = ctx.open_store()
    try:
        live = requests.live(db)
        return {
            tool.tool_id: {row.source for row in live.get(tool.id, ())} for tool in tools.tools(db)
        }
    finally:
        db.close()


def test_a_scan_says_what_lacks_and_one_command_has_it_written(ctx, log, scan, capsys):
    printed = scan("one", 3)
    assert "3 of 3 tools have no example requests" in printed
    assert f"{FOUND_WITHOUT} of 100 queries" in printed and f"{FOUND_WITH} where" in printed
    command = "toolcrib requests write --missing --command claude"
    assert command in printed
    assert run(command.split()[1:]) == 4  # without a yes
    assert claude_program.asked(log) == []
    assert run([*command.split()[1:], "--yes"]) == 0
    assert "9 requests for 3 tools." in capsys.readouterr().out
    (only,) = claude_program.asked(log)
    assert only["arguments"] == ["-p"]
    assert all(who == {"model"} for who in sources(ctx).values())
    assert not Settings.load(ctx.paths.settings_file).requests_new


def test_new_servers_get_theirs_only_where_that_was_switched_on(ctx, log, scan, capsys):
    scan("one", 2)
    write = ["requests", "write", "--missing", "--command", "claude", "--yes"]
    assert run(write) == 0
    assert "have no example requests" in scan("two", 3)
    assert len(claude_program.asked(log)) == 1
    capsys.readouterr()
    assert run([*write, "--also-new"]) == 0
    assert "without a question" in capsys.readouterr().err
    assert "12 requests for 4 tools. Written by `claude -p` on this machine" in scan("three", 4)
    third = claude_program.asked(log)[-1]["text"]
    assert '"server": "three"' in third and '"server": "two"' not in third
    assert run(["requests", "stop"]) == 0
    assert "have no example requests" in scan("four", 5)
    assert len(claude_program.asked(log)) == 3
    lacking = {tool for tool, who in sources(ctx).items() if not who}
    assert {tool.split("/")[0] for tool in lacking} == {"four"}


def test_a_model_that_fails_later_leaves_the_scan_whole(ctx, log, scan):
    scan("one", 1)
    assert run(["requests", "write", "--command", "claude", "--yes", "--also-new"]) == 0
    program = Path(os.environ["PATH"].split(os.pathsep)[0]) / "claude"
    program.write_text("#!/bin/sh\necho 'Invalid API key · Please run /login' >&2\nexit 1\n")
    printed = scan("two", 2)
    assert "No requests were written: claude failed: Invalid API key" in printed
    assert len(sources(ctx)) == 3
