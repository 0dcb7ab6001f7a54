"""Rows of widgets that go on below where there is no room."""

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from ui.widgets.flow import Flow


@pytest.fixture
def box(qtbot):
    box = QWidget()
    qtbot.addWidget(box)
    return box


def buttons(flow, *words):
    made = [QPushButton(word) for word in words]
    for button in made:
        flow.addWidget(button)
    return made


def tops(widgets):
    return [widget.y() for widget in widgets]


def test_what_has_no_room_goes_on_below(box):
    made = buttons(Flow(box), "As is", "Pruned", "Through Toolcrib")
    box.show()
    box.resize(box.sizeHint())
    assert tops(made) == [0, 0, 0]
    box.resize(made[0].sizeHint().width() * 2, 200)
    assert made[0].y() < made[-1].y()
    assert all(button.width() >= button.sizeHint().width() for button in made)
    assert box.layout().heightForWidth(box.width()) >= made[-1].geometry().bottom()


def test_the_least_width_is_that_of_the_widest(box):
    made = buttons(Flow(box), "As is", "Through Toolcrib")
    widest = max(button.minimumSizeHint().width() for button in made)
    assert box.minimumSizeHint().width() == widest


def test_what_is_hidden_takes_no_place(box):
    made = buttons(Flow(box), "As is", "Native", "Pruned")
    made[1].hide()
    box.show()
    box.resize(box.sizeHint())
    assert made[2].x() == made[0].geometry().right() + 1 + box.layout().spacing()


def test_words_take_the_rest_of_their_row_or_a_row_of_their_own(box):
    flow = Flow(box, at_end=True)
    words = QLabel("A dated copy is kept.", wordWrap=True)
    flow.add_wide(words, 120)
    made = buttons(flow, "Copy", "Write config")
    box.show()
    box.resize(600, 60)
    assert made[-1].geometry().right() == 599
    assert words.geometry().right() + 1 + flow.spacing() == made[0].x()
    box.resize(sum(b.sizeHint().width() for b in made) + flow.spacing(), 200)
    assert words.width() == box.width() and words.y() < made[0].y() == made[1].y()
