"""Verbs say why there is nothing to show or to do, and make nothing for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import run
from app.core.context import AppContext

Verb = Callable[..., Any]


def test_without_tools_verbs_say_so_at_once(
    ctx: AppContext,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "models"))
    for words in (["route", "a file"], ["footprint"], ["profile", "show"]):
        assert run(words) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[0] == "No tools are known yet. Read some with: toolcrib scan"
    assert run(["profile", "set", "servers=[]"]) == 0
    for words in (["footprint"], ["profile", "show"], ["route", "x"]):
        assert run(words) == 0
        assert "The profile default has no server;" in capsys.readouterr().out
    assert run(["profile", "set", "servers=null"]) == 0
    capsys.readouterr()
    assert run(["server", "disable", "x"]) == 1
    assert "No server is known yet: toolcrib scan finds some." in capsys.readouterr().err
    for words in (["calibrate"], ["learn"], ["trust", "x"], ["profile", "off", "x"]):
        assert run(words) == 1
        assert "toolcrib scan" in capsys.readouterr().err
    assert not (tmp_path / "models").exists()  # the encoder was not made for nothing


def test_a_server_without_tools_is_trusted_in_words(verb: Verb, capsys: Any) -> None:
    verb("add", "other", "--", "echo")
    assert run(["trust", "other"]) == 0
    assert capsys.readouterr().out == "other is trusted. Read its tools: toolcrib scan other\n"
    assert run(["trust", "github", "other"]) == 0
    assert capsys.readouterr().out.startswith("2 tools trusted.\nother is trusted.")
