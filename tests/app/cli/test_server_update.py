"""`toolcrib server update`: listed, compared, refused without a yes, taken, taken back."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from fake_registry import entry, fake_registry
from npx_shim import Packages, tool

from app.cli.main import run


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, object]:
    assert run([*words, "--json"]) == code
    out = capsys.readouterr().out
    return dict(json.loads(out)) if out.strip() else {}


def sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an encoder: with one the 900 shipped servers are encoded, a minute of CPU."""
    with monkeypatch.context() as words_only:
        words_only.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))
        answer(capsys, "registry", "sync", "team")


def test_a_sync_that_is_stopped_while_it_encodes_has_said_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stopped:
        key = "stopped"

        def encode(self, _texts: list[str]) -> None:
            raise KeyboardInterrupt

    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "own"))
    monkeypatch.setattr("app.cli.market._encoder", lambda _ctx: Stopped())
    with fake_registry([entry(1)]) as server:
        answer(capsys, "registry", "add", server.url, "--name", "team", "--private")
        assert run(["registry", "sync", "team"]) == 130
    assert "go on with: toolcrib registry prepare\n" in capsys.readouterr().err
    assert answer(capsys, "registry", "list")["sources"][-1]["servers"] == 1


def test_an_update_from_a_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = Packages(tmp_path / "packages")
    monkeypatch.setenv("PATH", packages.path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "own"))
    packages.publish("server-1", "1.0.0", tool("look", "Look"))
    packages.publish("server-1", "2.0.0", tool("look", "Look"), tool("snow", "Snow"))
    with fake_registry([entry(1)]) as server:
        answer(capsys, "registry", "add", server.url, "--name", "team", "--private")
        sync(tmp_path, monkeypatch, capsys)
        answer(capsys, "add", "--from", "io.github.somebody/server-1")
        answer(capsys, "scan", "server-1", "--yes")
        assert answer(capsys, "server", "update") == {"newer": {}}
        server.items[0] = entry(1, version="2.0.0", updated="2026-03-01T00:00:00Z")
        sync(tmp_path, monkeypatch, capsys)
        assert answer(capsys, "server", "update") == {"newer": {"server-1": "2.0.0"}}
        started = len(packages.lines("started"))
        answer(capsys, "server", "update", "server-1", code=4)
        assert len(packages.lines("started")) == started  # nothing without a yes
        seen = answer(capsys, "server", "update", "server-1", "--yes", "--dry-run")
        assert seen["taken"] is False and seen["removed"] == [] == seen["changed"]
        assert [one["tool"] for one in seen["added"]] == ["snow"]  # type: ignore[union-attr]
        assert answer(capsys, "server", "update", "server-1", "--yes")["taken"] is True
        assert answer(capsys, "server", "update") == {"newer": {}}
        back = answer(capsys, "server", "update", "server-1", "--back")
        assert back == {"server": "server-1", "version": "1.0.0"}
        assert run(["server", "update", "server-1", "--back"]) == 1
        assert "No earlier version of server-1 is kept." in capsys.readouterr().err
        assert run(["server", "update", "nothing"]) == 1
        assert "nothing is not known." in capsys.readouterr().err
