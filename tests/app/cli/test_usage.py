"""`toolcrib usage` reads records only after a yes, and forgets them in one step."""

import json
from pathlib import Path

import pytest

from app.cli.main import run

LINE = {
    "type": "assistant",
    "requestId": "r1",
    "message": {"content": [{"type": "tool_use", "id": "c", "name": "mcp__files__read"}]},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from datetime import UTC, datetime

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "own"))
    file = tmp_path / ".claude" / "projects" / "p" / "s.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(LINE | {"timestamp": datetime.now(UTC).isoformat()}) + "\n")
    return tmp_path


def test_nothing_is_read_without_a_yes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["usage", "read"]) == 4
    output = capsys.readouterr()
    assert "It keeps no prompt, argument or result." in output.err and "Claude Code" in output.err
    assert run(["usage", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tools"] == []
    assert run(["usage", "show"]) == 0
    assert "Read the hosts' records: toolcrib usage read" in capsys.readouterr().out


def test_consent_is_remembered_until_it_is_taken_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["usage", "read", "--yes", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["records"], value["calls"], value["requests"]) == (1, 1, 1)
    assert run(["usage", "read", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["read"] == 0
    assert run(["usage", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["unknown"], shown["tools"]) == (1, [])
    assert run(["usage", "show"]) == 0
    text = capsys.readouterr().out
    assert "Not in the catalogue: the tools of 1 call." in text
    assert "hold no request of a host on this machine" in text
    assert run(["usage", "forget"]) == 0
    assert run(["usage", "read"]) == 4


def test_a_price_is_kept_and_a_bad_one_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["usage", "show", "--price", "-1"]) == 1
    assert "is no price" in capsys.readouterr().err
    assert run(["usage", "show", "--price", "3"]) == 0
    assert "price = 3.0" in (home / "own" / "settings.toml").read_text()
