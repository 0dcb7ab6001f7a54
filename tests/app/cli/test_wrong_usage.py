"""Wrong usage: exit code 2, and what may follow instead."""

from typing import Any

import pytest

from app.cli.main import run


def test_an_unknown_option_ends_with_the_usage_of_its_verb(capsys: Any) -> None:
    assert run(["hook", "install", "codex", "--yess"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("usage: toolcrib hook install ")
    assert printed.endswith("toolcrib hook install: error: unrecognized arguments: --yess\n")


@pytest.mark.parametrize("argv", [["nonsense"], [], ["export"], ["route"]])
def test_wrong_usage_is_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["profile", "team", "server", "backend", "labels"])
def test_a_verb_without_its_part_lists_them(group: str, capsys: Any) -> None:
    assert run([group]) == 2
    told = capsys.readouterr().err
    assert f"toolcrib {group}: the following arguments are required: " in told
    assert "options:" in told and len(told.splitlines()) > 10
