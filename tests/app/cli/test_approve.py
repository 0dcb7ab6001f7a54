"""`toolcrib approve` lists calls that wait and decides one."""

import json
from pathlib import Path

import pytest

from app.cli.main import run
from app.core.context import AppContext
from store import approvals
from store.connection import transaction
from store.records import Approval


@pytest.fixture
def number(ctx: AppContext, db: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    now = ctx.clock()
    with transaction(db):  # type: ignore[arg-type]
        arguments = '{"path": "\x1b[31m"}'
        call = Approval(0, now, now + 60, "default", "s", "codex", "files/delete", "h", arguments)
        return approvals.add(db, call)  # type: ignore[arg-type]


def test_calls_are_listed_and_decided(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["approve"]) == 0
    text = capsys.readouterr().out
    assert "files/delete" in text and "\x1b" not in text
    assert run(["approve", str(number), "--always", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decision"] == "always"
    assert run(["approve", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value == {"waiting": [], "always": [{"profile": "default", "tool": "files/delete"}]}
    assert run(["approve", "--ask-again", "files/delete"]) == 0
    assert run(["approve", "--ask-again", "files/delete"]) == 1
    assert run(["approve", str(number)]) == 1
    assert "waits no more" in capsys.readouterr().err
