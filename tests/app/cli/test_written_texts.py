"""Texts that searches use, and who wrote them: summaries and example requests."""

import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.core.scrubber import HIDDEN
from app.hosts.launch import LaunchSpec
from app.registry.importing import add_server
from store import queries, search

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


def test_secrets_in_requests_are_kept_as_dots_those_known_later_too(
    verb: Verb, ctx: AppContext, db: apsw.Connection
) -> None:
    known, later = "k7Qw-9zPx-33ab", "p5Rt+2mNx/81cd"
    add_server(ctx, db, "locked", LaunchSpec("stdio", "tool", env={"API_KEY": known}))
    spellings = (later, quote(later, safe=""), b64encode(later.encode()).decode())
    typed = [f"sign in with {one}" for one in (known, *spellings, "nothing")]
    set_ = verb("requests", "set", "github/create_issue", *typed[:2], typed[-1])
    assert set_["requests"] == [f"sign in with {HIDDEN}", typed[1], typed[-1]]
    for text in typed[1:]:
        verb("labels", "add", text, "github/create_issue")
    add_server(ctx, db, "late", LaunchSpec("stdio", "tool", env={"API_KEY": later}))
    shown = verb("requests", "show", "github/create_issue")["requests"]
    assert {row["text"] for row in shown} == {f"sign in with {HIDDEN}", typed[-1]}
    assert {row.query for row in queries.labels(db)} == {f"sign in with {HIDDEN}", typed[-1]}
    assert search.keyword_scores(db, ["nothing"])
    assert not search.keyword_scores(db, ["81cd"])
