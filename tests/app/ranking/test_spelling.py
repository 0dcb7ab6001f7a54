"""Typing errors: what is read as what, and what is left as it was typed."""

import pytest

from app.ranking.hierarchy import parse_request
from app.ranking.query.spelling import Speller, corrected, corrections, slips
from app.ranking.router import read_request
from tests.fakes.routing_fakes import WordEncoder


@pytest.mark.parametrize(
    ("word", "other", "count"),
    [
        ("branch", "branch", 0),
        ("brnach", "branch", 1),
        ("brach", "branch", 1),
        ("brannch", "branch", 1),
        ("bransh", "branch", 1),
        ("calander", "calendar", 2),
        ("table", "mountains", 3),
    ],
)
def test_slips_are_letters_left_out_added_replaced_or_swapped(word, other, count):
    assert slips(word, other, 2) == count


def test_only_unknown_long_words_are_read_as_the_words_next_to_them():
    speller = Speller(["create branch", "create calendar event", "send mail", "a schedule"])
    known = {"create", "branch", "calendar", "event", "send", "mail"}

    def read(query: str) -> str:
        return corrected(query, corrections(query, known.__contains__, lambda: speller))

    assert read("craete a new brnach!") == "create a new branch!"
    assert read("mail Evens about it") == "mail Evens about it"  # a name
    assert read("schdule it") == "schedule it"
    assert read("sned an event by mial") == "sned an event by mial"  # too short to be sure
    assert read("order a pizza") == "order a pizza"
    assert read("xcalendar 12345 日本語文字 brnach2") == "xcalendar 12345 日本語文字 brnach2"


def test_a_catalogues_words_are_read_only_for_a_query_that_needs_them():
    def never() -> Speller:
        raise AssertionError

    assert corrections("create a branch", lambda _word: True, never) == {}


def test_a_mistyped_request_finds_its_tool_and_says_what_was_read(make_router):
    for encoder in (True, False):
        router, _db, _catalog = make_router(
            [("git", "checkout", "Switch to another branch"), ("mail", "send", "Send a letter")],
            encoder=encoder,
        )
        ranked = router.route("swicth to my brannch", limit=5)
        assert ranked.tools[0].name == "checkout"
        assert "Read “swicth” as “switch”. Read “brannch” as “branch”." in ranked.note
        assert "Read" not in router.route("switch to another branch").note


@pytest.mark.parametrize(("words", "query"), [((), "retry meeting"), (("retro",), "retro meeting")])
def test_a_word_that_the_encoder_knows_is_no_slip(words, query):
    """A catalogue of git tools has "retry", and no meeting of it is a slip of that."""
    speller = Speller(["retry the meeting"])
    known = {"retry", "meeting"}
    encoder = WordEncoder(words=frozenset(words))
    request = parse_request("retro meeting")
    read = read_request(request, known.__contains__, lambda: speller, encoder)
    assert read.query == query
    assert read_request(request, known.__contains__, lambda: speller, None).query == "retry meeting"


def test_the_catalogue_is_asked_only_for_words_that_the_encoder_does_not_know():
    """Each of its answers costs a query of the database, for a team one over the network."""
    asked = []
    encoder = WordEncoder(words=frozenset(("branch", "commits", "merge")))
    request = parse_request("merge the commits of gitlab into a branch")
    read_request(request, lambda word: bool(asked.append(word)) or True, Speller, encoder)
    assert asked == ["gitlab"]
