"""Texts that searches use, and who wrote them: summaries and example requests."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.cli.main import run

Verb = Callable[..., Any]


def test_summaries(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    verb("summary", "set", "github/create_issue", "open a ticket")
    (row,) = verb("summary", "show", "github/create_issue")["summaries"]
    assert (row["summary"], row["source"]) == ("open a ticket", "user")
    assert run(["summary", "show", "github"]) == 0
    head, row = (re.split(r" {2,}", line) for line in capsys.readouterr().out.splitlines())
    assert head == ["tool", "origin", "summary"]
    assert row == ["github/create_issue", "yours", "open a ticket"]
    verb("summary", "set", "github/create_issue", "word " * 200, code=1)
    verb("summary", "set", "github", "both of them", code=1)
    made = verb("summary", "reset", "github/create_issue")
    assert made["summary"].startswith("create issue")
    (row,) = verb("summary", "show", "github/create_issue")["summaries"]
    assert (row["summary"], row["source"]) == (made["summary"], "made")
    assert run(["summary", "show", "github"]) == 0
    assert "github/create_issue  from Toolcrib  create issue" in capsys.readouterr().out


def test_requests_say_who_made_them(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    verb("requests", "set", "github/create_issue", "file a bug report")
    assert run(["requests", "show", "github/create_issue"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split() == ["tool", "origin", "request"]
    assert "yours   file a bug report" in shown and "user" not in shown
    assert run(["requests", "show", "files"]) == 0
    assert capsys.readouterr().out.startswith("No tool here has example requests. To have them ")
