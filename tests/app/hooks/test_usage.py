"""What became of suggestions, over a real journal."""

from datetime import date, datetime, timedelta
from typing import Any

import apsw

from app.hooks.usage import (
    HIT,
    MISSED,
    NONE,
    OTHER,
    SILENT,
    UNSEEN,
    SuggestionUse,
    suggestion_uses,
    weeks,
)
from store import events
from store.connection import transaction
from store.records import EventRecord

MONDAY = datetime(2026, 11, 16, 9).timestamp()  # of local time
DAY = 86_400.0


def prompt(at: float, *tools: str, **more: Any) -> EventRecord:
    """A prompt for which these were suggested; for none, it was silent."""
    detail = {"hook": "claude-code", "tools": tools, "silence": "" if tools else "nothing fits"}
    fields = {"host": "claude-code", "session": "s", **more}
    return EventRecord(at, "suggest", detail=detail, **fields)


def call(at: float, tool: str, session: str = "s") -> EventRecord:
    return EventRecord(at, "call", session=session, tool=tool)


def uses(db: apsw.Connection, *added: EventRecord) -> list[SuggestionUse]:
    with transaction(db):
        events.add(db, added)
    return list(reversed(suggestion_uses(db, 0.0)))


def test_what_the_model_then_did_is_the_outcome(db: apsw.Connection) -> None:
    made = uses(
        db,
        prompt(1, "a/x", "a/y"),
        call(2, "b/z"),
        call(3, "a/y"),
        prompt(4, "a/x"),
        call(5, "b/z"),
        prompt(6, "a/x"),
        prompt(7),
        prompt(8),
        call(9, "a/x"),
        call(10, "a/x"),
    )
    assert [use.outcome for use in made] == [HIT, OTHER, NONE, SILENT, MISSED]
    assert made[0].called == ("b/z", "a/y")
    assert made[-1].called == ("a/x",), "a tool counts once"


def test_calls_of_another_session_are_not_its_own(db: apsw.Connection) -> None:
    [one] = uses(db, prompt(1, "a/x"), call(2, "a/x", session="t"))
    assert one.outcome == NONE


def test_a_host_that_calls_by_itself_is_not_judged(db: apsw.Connection) -> None:
    [one] = uses(db, prompt(1, "a/x", host=""), call(2, "b/z"))
    assert one.outcome == UNSEEN
    assert one.host == "claude-code"
    assert weeks([one]) == ()


def test_only_a_miss_whose_prompt_was_kept_can_be_labelled(db: apsw.Connection) -> None:
    made = uses(
        db,
        prompt(1, "a/x", query="kept"),
        call(2, "b/z"),
        prompt(3, "a/x"),
        call(4, "b/z"),
        prompt(5, "a/x", query="kept too"),
        call(6, "a/x"),
        prompt(7, query="silent"),
        call(8, "a/x"),
    )
    assert [use.label for use in made] == [("kept", "b/z"), None, None, ("silent", "a/x")]


def test_the_hit_rate_of_each_week_newest_first(db: apsw.Connection) -> None:
    made = uses(
        db,
        prompt(MONDAY - DAY, "a/x"),
        prompt(MONDAY, "a/x"),
        call(MONDAY + 1, "a/x"),
        prompt(MONDAY + 2),
        prompt(MONDAY + 6 * DAY, "a/x"),
    )
    monday = date(2026, 11, 16)
    assert [(week.monday, week.made, week.hits) for week in weeks(made)] == [
        (monday, 2, 1),
        (monday - timedelta(days=7), 1, 0),
    ]
