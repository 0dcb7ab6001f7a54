"""One event in full, below the table of events."""

import time

import pytest

from store.records import EventRecord
from tests.ui.test_activity import CALL, SEARCH, note, page, shown
from ui.pages.activity.event_details import event_lines
from ui.pages.activity.event_rows import make_row

__all__ = ["page"]  # the fixture

FOUND = {
    "candidates": ["github/search_code", "github/merge", "time/now", "slack/post"],
    "scores": [0.91, 0.62, 0.2, 0.5],
    "gates": ["", "precondition", "score", ""],
    "shown": ["github/search_code"],
    "active": ["time/now"],
    "turn": 3,
    "words_only": True,
}


def lines(**fields):
    return dict(event_lines(make_row(EventRecord(**fields))))


def test_a_search_says_what_was_shown_and_what_kept_the_rest_out():
    about = lines(**SEARCH, profile="work", tokens=812, ms=14.26, detail=FOUND)
    assert about["Query"] == "retry policy"
    assert (about["Host"], about["Profile"], about["Session"]) == ("cursor", "work", "s")
    assert about["Shown to the model"] == "github/search_code (0.91)"
    assert about["Not shown"].splitlines() == [
        "github/merge (0.62): out by Precondition",
        "time/now (0.20): out by Score",
        "slack/post (0.50): no room in the answer",
    ]
    assert about["Compared"] == "words only: the encoder was not loaded yet"
    assert about["Loaded then"] == "1 tool: time/now"
    assert (about["Size"], about["Took"]) == ("812 tokens ≈", "14.3 ms")


def test_a_search_of_an_earlier_version_names_its_candidates():
    before = {name: FOUND[name] for name in ("candidates", "scores")}
    about = lines(**SEARCH, detail=before)
    assert "Shown to the model" not in about
    assert about["Candidates"].startswith("github/search_code (0.91)")


@pytest.mark.parametrize(
    ("detail", "name", "value"),
    [
        ({"near": ["a/x", "a/y"]}, "Nearest tools", "a/x, a/y"),
        ({"stderr": "boom\n"}, "Last lines of the server", "boom\n"),
        ({"kind": "secret", "from": "mail", "decision": "refused"}, "Decision", "refused"),
        ({"candidates": "odd", "scores": None}, "Host", "unknown"),
    ],
)
def test_what_else_an_event_holds_is_named(detail, name, value):
    assert lines(at=1.0, kind="error", problem="it failed", detail=detail)[name] == value


def test_a_search_names_the_best_match_that_was_off():
    about = lines(**SEARCH, detail={**FOUND, "best_off": "time/get_current_time"})
    assert about["Best match, which is off"] == "time/get_current_time"
    assert "Best match, which is off" not in lines(**SEARCH, detail=FOUND)


def test_a_call_by_exact_name_says_that_there_was_no_search():
    about = lines(at=1.0, kind="call", tool="a/b", detail={"by_name": True})
    assert about["Asked for"] == "by its exact name, without a search"


def test_invisible_characters_are_spelled_out():
    assert lines(at=1.0, kind="search", query="a\u200bb")["Query"] == "a⟨U+200B⟩b"


def test_the_current_event_is_told_in_full_and_repeats_count_on(page, services, qtbot):
    note(services, SEARCH | {"detail": FOUND}, CALL | {"at": 100.0, "ms": 3.0})
    shown(page)
    live = page.live
    qtbot.waitUntil(lambda: live.model.rowCount() == 2, timeout=20_000)
    live.view.setCurrentIndex(live.shown.index(0, 0))
    assert live.details.isVisible()
    first = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(100))
    assert ("Time", first) in live.details.lines
    note(services, CALL | {"at": 160.0, "ms": 4.0})
    qtbot.waitUntil(lambda: live.model.rows[0].times == 2, timeout=20_000)
    last = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(160))
    assert ("Time", f"2 times, from {first} to {last}") in live.details.lines
    live.view.setCurrentIndex(live.shown.index(1, 0))
    assert "github/search_code (0.91)" in live.details.toPlainText()
    live.clear.click()
    assert not live.details.isVisible()


def test_a_query_that_looks_like_markup_is_shown_as_it_stands(page, services, qtbot):
    note(services, SEARCH | {"query": "<b>bold</b>"})
    shown(page)
    qtbot.waitUntil(lambda: page.live.model.rowCount() == 1, timeout=20_000)
    page.live.view.setCurrentIndex(page.live.shown.index(0, 0))
    assert "<b>bold</b>" in page.live.details.toPlainText()
