"""`toolcrib hook`: previewed, written, shown, taken out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import FAILED, run
from app.core.context import AppContext

Verb = Callable[..., Any]


@pytest.fixture
def home(ctx: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    ctx.open_store().close()
    return folder


@pytest.fixture
def verb(home: Path, capsys: pytest.CaptureFixture[str]) -> Verb:
    def call(*argv: str) -> Any:
        capsys.readouterr()
        assert run(["hook", *argv, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return call


def test_a_preview_writes_nothing_and_says_what_is_read(
    home: Path, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb("install", "claude-code", "--dry-run")["written"] is False
    assert not list(home.rglob("*"))
    assert run(["hook", "install", "claude-code", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "toolcrib-gateway" in text
    assert "stores none of it" in text
    assert "Nothing was written" in text


def test_install_status_and_remove(home: Path, ctx: AppContext, verb: Verb) -> None:
    made = verb("install", "claude-code")
    assert made["written"]
    assert made["form"] == "command"
    file = home / ".claude" / "settings.json"
    assert made["file"] == str(file)
    assert str(ctx.paths.home) in file.read_text(encoding="utf-8"), "the hook finds another store"
    [row] = verb("status", "claude-code")["hosts"]
    assert row["installed"]
    assert row["state"] == "on"
    assert row["words"] == "Installed. Claude Code runs a small program at each prompt."
    assert {one["id"] for one in verb("status")["hosts"]} >= {"claude-code", "codex", "opencode"}
    assert verb("remove", "claude-code") == {"changed": [str(file)]}
    assert not list(home.rglob("*.json"))
    assert verb("remove", "all") == {"changed": []}


def test_the_list_form_is_written_shown_and_taken_out(home: Path, verb: Verb) -> None:
    made = verb("install", "opencode", "--form", "list", "--dry-run")
    assert (made["form"], made["written"]) == ("list", False)
    assert any("prompt cache begins anew" in note for note in made["notes"])
    assert not list(home.rglob("*"))
    file = home / ".config" / "opencode" / "plugin" / "toolcrib.js"
    assert verb("install", "opencode", "--form", "list")["file"] == str(file)
    [row] = verb("status", "opencode")["hosts"]
    assert (row["form"], row["state"]) == ("list", "on")
    assert "leaves tools that do not fit out" in row["words"]
    assert verb("remove", "opencode") == {"changed": [str(file)]}
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_a_host_that_cannot_narrow_its_list_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hook", "install", "codex", "--form", "list"]) == FAILED
    assert "cannot change the list of tools" in capsys.readouterr().err


def test_a_host_without_hooks_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook", "install", "cursor"]) == FAILED
    assert "claude-code" in capsys.readouterr().err


def test_restoring_all_hosts_takes_hooks_out_as_well(
    home: Path, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    verb("install", "claude-code")
    capsys.readouterr()
    assert run(["restore", "all", "--json"]) == 0
    file = home / ".claude" / "settings.json"
    assert json.loads(capsys.readouterr().out) == {"restored": [str(file)]}
    assert not file.exists()


def test_restoring_a_host_takes_its_hook_out_and_no_others(
    home: Path, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    verb("install", "claude-code")
    verb("install", "codex")
    capsys.readouterr()
    assert run(["restore", "claude-code", "--json"]) == 0
    file = home / ".claude" / "settings.json"
    assert json.loads(capsys.readouterr().out) == {"restored": [str(file)]}
    assert not file.exists() and (home / ".codex" / "hooks.json").exists()
    assert run(["restore", "claude-code"]) == FAILED
    assert "has not written to this host" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_stops_no_other(
    home: Path, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    verb("install", "claude-code")
    verb("install", "codex")
    broken = home / ".claude" / "settings.json"
    broken.write_text("{ oh", encoding="utf-8")
    capsys.readouterr()
    assert run(["restore", "all", "--yes"]) == FAILED
    out = capsys.readouterr()
    assert "hooks.json" in out.out and f"The hook stays: {broken}" in out.err
    assert run(["hook", "remove", "all"]) == FAILED
    assert f"Not removed: {broken}" in capsys.readouterr().err


def test_status_says_what_a_hook_waits_for(home: Path, verb: Verb) -> None:
    verb("install", "codex")
    [row] = verb("status", "codex")["hosts"]
    assert row["state"] == "silent", "Codex sends every tool itself until it goes through Toolcrib"
    assert "goes through Toolcrib" in row["words"]
    states = {one["id"]: one["state"] for one in verb("status")["hosts"]}
    assert states["claude-code"] == "off"


def test_a_hook_that_would_stay_silent_is_not_called_done(
    home: Path, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    [note] = [text for text in verb("install", "gemini-cli")["notes"] if "silent" in text]
    assert note == verb("status", "gemini-cli")["hosts"][0]["words"]
    verb("remove", "gemini-cli")
    assert run(["hook", "install", "gemini-cli"]) == 0
    assert note in capsys.readouterr().out
