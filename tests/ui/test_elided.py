"""Texts that are longer than their room end in dots, never in half a letter."""

import pytest

from ui.widgets.elided import ElidedChoice, ElidedLabel

WHOLE = "Without titles and other words that check nothing"


@pytest.fixture
def box(theme, qtbot):
    made = ElidedChoice(6)
    qtbot.addWidget(made)
    made.addItems([WHOLE, "Short"])
    made.show()
    return made


def test_a_choice_that_is_too_long_ends_in_dots(box):
    box.resize(160, box.sizeHint().height())
    assert box.shown.endswith("…") and WHOLE.startswith(box.shown[:-1])
    assert box.fontMetrics().horizontalAdvance(box.shown) < 160
    image = box.grab().toImage()
    words = [x for x in range(4, box.field().right() + 1) if inked(image, x)]
    assert words and max(words) < box.field().right()  # before the arrow and what is around it


def test_a_choice_that_has_room_is_whole(box):
    box.resize(600, box.sizeHint().height())
    assert box.shown == WHOLE
    box.resize(160, box.sizeHint().height())
    box.setCurrentIndex(1)
    assert box.shown == "Short"


def test_a_label_has_other_words_where_its_own_would_be_cut(theme, qtbot):
    label = ElidedLabel("10 tools in · 1,234 of 290,000 tokens ≈")
    qtbot.addWidget(label)
    label.brief = "10 in · 1,234 ≈"
    label.resize(800, 20)
    assert label.shown == label.text()
    label.resize(label.fontMetrics().horizontalAdvance(label.brief) + 4, 20)
    assert label.shown == label.brief
    label.grab()
    assert label.toolTip() == label.text()


def inked(image, x):
    """Whether a column has letters: more than one colour, away from the frame."""
    ratio = image.devicePixelRatio()
    rows = range(round(6 * ratio), image.height() - round(6 * ratio))
    return len({image.pixel(round(x * ratio), y) for y in rows}) > 1
