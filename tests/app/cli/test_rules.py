"""`toolcrib rules`: previewed, written, shown, taken out."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import FAILED, run
from app.core.context import AppContext
from store import exports
from store.connection import transaction
from store.records import THROUGH, ExportRecord


@pytest.fixture
def home(ctx: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    with closing(ctx.open_store()) as db, transaction(db):
        record = ExportRecord(0, 1.0, "codex", "user", "/f", THROUGH, "default", "", "", "")
        exports.add(db, record)
    return folder


@pytest.fixture
def verb(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(*argv: str) -> Any:
        capsys.readouterr()
        assert run(["rules", *argv, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return call


def test_a_preview_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "install", "codex", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "+<!-- toolcrib:begin -->" in text
    assert "part of every request" in text
    assert "Nothing was written" in text
    assert not list(home.rglob("*.md"))


def test_install_status_and_remove(home: Path, verb: Callable[..., Any]) -> None:
    made = verb("install", "codex")
    file = home / ".codex" / "AGENTS.md"
    assert made["written"]
    assert made["file"] == str(file)
    assert {one["id"]: one["installed"] for one in verb("status")["hosts"]}["codex"]
    assert verb("remove", "codex") == {"changed": [str(file)]}
    assert not file.exists()
    assert verb("remove", "all") == {"changed": []}


def test_a_host_without_the_menu_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "install", "claude-code"]) == FAILED
    assert "export claude-code --mode through" in capsys.readouterr().err
