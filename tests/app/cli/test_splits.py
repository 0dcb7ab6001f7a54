"""`toolcrib profile split` shows, makes and undoes."""

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext

AddServer = Callable[..., int]


@pytest.fixture(autouse=True)
def three_servers(
    ctx: AppContext,
    db: apsw.Connection,
    add_server: AddServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a", "b", "c"):
        add_server(name, "one", "two")


def profiles(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["profile", "list", "--json"]) == 0
    return [one["name"] for one in json.loads(capsys.readouterr().out)["profiles"]]


def test_a_split_is_shown_made_and_undone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "split", "--tokens", "400", "--dry-run"]) == 0
    assert "Nothing was made." in capsys.readouterr().out
    assert profiles(capsys) == ["default"]
    assert run(["profile", "split", "--tokens", "400", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in made["profiles"]]
    assert made["made"] and all(one["tokens"] <= 400 for one in made["profiles"])
    assert profiles(capsys) == ["default", *names]
    assert run(["profile", "split", "--undo"]) == 0
    assert "The split of default is undone: 2 profiles deleted." in capsys.readouterr().out
    assert profiles(capsys) == ["default"]


def test_what_fits_is_not_split_and_a_stranger_gets_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["profile", "split"]) == 1
    assert "one profile holds every tool" in capsys.readouterr().err
    assert run(["profile", "split", "--tokens", "400", "--assign", "cursor"]) == 1
    assert "No calls of cursor are known." in capsys.readouterr().err
    assert profiles(capsys) == ["default"]
