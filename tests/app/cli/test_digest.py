"""`toolcrib digest`: empty, with too little data, ready; proposals put off and brought back."""

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.policy.usage import DAY
from store import events
from store.connection import transaction
from store.records import EventRecord
from store.typed import Json

AddServer = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def servers(
    ctx: AppContext,
    db: apsw.Connection,
    add_server: AddServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("HOME", str(tmp_path))
    add_server("a", "used", "unused")
    add_server("b", "other")


def call(ctx: AppContext, db: apsw.Connection, days: int) -> None:
    """30 calls of a/used over so many days, and one of b/other."""
    now = ctx.clock()
    rows = [
        EventRecord(now - days * DAY * n / 30, "call", host="Cursor", session="s", tool="a/used")
        for n in range(31)
    ]
    with transaction(db):
        events.add(db, [*rows, EventRecord(now, "call", session="s", tool="b/other")])


def digest(capture: Capture, *options: str, code: int = 0) -> Json:
    assert run(["digest", "--json", *options]) == code
    value: Json = json.loads(capture.readouterr().out)
    return value


def test_without_calls_it_names_the_two_ways_to_get_some(capsys: Capture) -> None:
    found = digest(capsys)
    assert (found["state"], found["proposals"]) == ("nothing", [])
    assert found["sentence"] == (
        "No calls are known yet. Let a host go through Toolcrib, or read the hosts' records."
    )


def test_with_three_days_nothing_is_proposed(
    ctx: AppContext, db: apsw.Connection, capsys: Capture
) -> None:
    call(ctx, db, 3)
    found = digest(capsys)
    assert (found["state"], found["proposals"], found["calls"]) == ("little", [], 32)
    assert found["sentence"] == (
        "32 calls of 2 tools this week. Proposals need 7 days and 20 calls: there are 3 days and"
        " 32 calls."
    )


def test_a_proposal_is_put_off_and_brought_back(
    ctx: AppContext, db: apsw.Connection, capsys: Capture
) -> None:
    call(ctx, db, 14)
    found = digest(capsys)
    assert found["state"] == "ready"
    assert found["never_called"] == {"tools": 1, "tokens": 100}
    (proposal,) = found["proposals"]
    assert (proposal["key"], proposal["saves"]) == ("never called:a", 100)
    assert proposal["command"] == "toolcrib profile off a/unused"
    assert found["sentence"].endswith("1 proposal would free 100 tokens.")
    key = proposal["key"]
    assert run(["digest", "--snooze", key]) == 0
    assert "Put off for 30 days. Undo: toolcrib digest --again" in capsys.readouterr().out
    later = digest(capsys)
    assert later["proposals"] == [] and [one["key"] for one in later["put_off"]] == [key]
    assert later["sentence"].endswith("Nothing is proposed.")
    assert run(["digest", "--again", key]) == 0
    capsys.readouterr()
    assert len(digest(capsys)["proposals"]) == 1
    assert run(["digest", "--never", key]) == 0
    capsys.readouterr()
    assert digest(capsys)["put_off"][0]["until"] == 0
    assert run(["digest", "--snooze", "nonsense"]) == 1
    assert "There is no proposal nonsense." in capsys.readouterr().err


def test_the_text_names_each_command(ctx: AppContext, db: apsw.Connection, capsys: Capture) -> None:
    call(ctx, db, 14)
    assert run(["digest"]) == 0
    text = capsys.readouterr().out
    assert "a/used" in text and "toolcrib profile off a/unused" in text
    assert "Not called in 30 days: 1 tool, 100 tokens." in text
    assert "toolcrib digest --snooze 'never called:a'" in text
