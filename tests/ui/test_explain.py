"""Texts and sums of the explain card."""

import pytest

from app.ranking.ranked import MEANING, PAST_USE, REQUESTS, SERVER, WORDS
from ui.pages.playground.explain_card import ExplainCard, marked
from ui.pages.playground.explain_parts import PartRows, rounded


def test_words_of_the_query_are_marked_whatever_their_ending():
    text = marked("Searches the issues.", ("search", "issue"), "#abcdef")
    assert text.count("background:#abcdef") == 2
    assert "the" in text


def test_a_description_is_never_taken_as_markup():
    text = marked('<img src="x"> & more', (), "#000000")
    assert "<img" not in text
    assert "&lt;img" in text


@pytest.mark.parametrize(
    ("parts", "score"),
    [
        ((("Words", 0.024), ("Meaning", 0.563)), 0.587),
        ((("Words", 0.005), ("Meaning", 0.005), ("Past use", 0.005)), 0.015),
        ((("Words", 0.3), ("Meaning", 0.5), ("Requests", -0.204), ("Past use", 0.1)), 0.696),
        ((), 0.0),
    ],
)
def test_parts_as_shown_sum_to_the_score_as_shown(parts, score):
    assert sum(part for _, part in rounded(parts, score)) == pytest.approx(
        round(score, 2), abs=1e-9
    )


def test_every_part_that_a_score_can_have_is_shown_with_the_score(theme, qtbot):
    parts = tuple((name, 0.1) for name in (WORDS, MEANING, SERVER, REQUESTS, PAST_USE))
    rows = PartRows(theme)
    qtbot.addWidget(rows)
    rows.show_parts(parts, 0.5)
    assert [name.text() for name, _bar, _value in rows._cells] == [n for n, _ in parts] + ["Score"]


def test_what_a_part_takes_is_an_outline_with_a_minus(theme, qtbot):
    rows = PartRows(theme)
    qtbot.addWidget(rows)
    rows.resize(300, 100)
    rows.show()
    rows.show_parts(((WORDS, 0.5), (REQUESTS, -0.5)), 0.0)
    given, taken = (bar for _name, bar, _value in rows._cells[:2])
    qtbot.waitUntil(lambda: taken.width() > 48, timeout=20_000)
    colors = theme.colors

    def color(bar, y):
        return bar.grab().toImage().pixelColor(bar.width() // 4, y).name()

    assert (color(given, 4), color(taken, 4)) == (colors.bar.name(), colors.track.name())
    assert color(taken, 0) == colors.bar.name()
    assert rows._cells[1][2].text() == "\u22120.50"
    assert "Requests \u22120.50" in rows.accessibleName()


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_the_question_is_read_whole_beside_its_button_or_above(theme, qtbot, zoom):
    card = ExplainCard(theme)
    qtbot.addWidget(card)
    card.resize(310, 400)
    title, button = card._title, card.label
    title.setText("Why is it out?")
    button.setText("Label as expected")
    button.show()
    card.show()
    try:
        theme.set_zoom(zoom)
        for part in (title, button):
            width = part.sizeHint().width()
            qtbot.waitUntil(lambda p=part, w=width: p.width() >= w, timeout=20_000)
            assert card.rect().contains(part.geometry())
        assert not title.geometry().intersects(button.geometry())
    finally:
        theme.set_zoom(100)
