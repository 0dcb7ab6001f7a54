"""`toolcrib profile split` shows, makes and undoes."""

import io
import json
import sys
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
    assert run(["profile", "split", "--tokens", "400", "--yes", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in made["profiles"]]
    assert made["made"] and all(one["tokens"] <= 400 for one in made["profiles"])
    assert profiles(capsys) == ["default", *names]
    assert run(["profile", "split", "--undo"]) == 0
    assert "The split of default is undone: 2 profiles deleted." in capsys.readouterr().out
    assert profiles(capsys) == ["default"]


@pytest.mark.parametrize("answer", ["", "n\n", "y\n"])
def test_profiles_are_made_after_a_yes_alone(
    answer: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.StringIO(answer)
    if answer:  # a person is there
        for stream in (typed, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    code = run(["profile", "split", "--tokens", "400"])
    out, err = capsys.readouterr()
    assert "tokens ≈" in err, "what would be made is shown before the question"
    assert ("Make them? [y/N]" in err) is bool(answer)
    if answer == "y\n":
        assert (code, len(profiles(capsys))) == (0, 3) and "Made. Undo all of it with" in out
    else:
        assert (code, out, profiles(capsys)) == (4, "", ["default"])
        assert "Nothing was made. Agree with --yes.\n" in err


def test_what_fits_is_not_split_and_a_stranger_gets_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["profile", "split"]) == 1
    assert "one profile holds every tool" in capsys.readouterr().err
    assert run(["profile", "split", "--tokens", "400", "--assign", "cursor"]) == 1
    assert "No calls of cursor are known." in capsys.readouterr().err
    assert profiles(capsys) == ["default"]
