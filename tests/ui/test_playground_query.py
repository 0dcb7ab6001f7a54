"""The query field."""

import pytest
from PySide6.QtCore import Qt

from ui.pages.playground.query_field import QueryField


@pytest.fixture
def field(qtbot):
    field = QueryField()
    qtbot.addWidget(field)
    field.show()
    return field


def test_enter_asks_at_once_and_only_once(field, qtbot):
    asked = []
    field.submitted.connect(lambda query, now: asked.append((query, now)))
    qtbot.keyClicks(field, "find files ")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    with qtbot.assertNotEmitted(field.submitted, wait=400):
        pass
    assert asked == [("find files", True)]


def test_a_rest_in_typing_asks_too(field, qtbot):
    with qtbot.waitSignal(field.submitted, timeout=2000) as asked:
        qtbot.keyClicks(field, "find")
    assert asked.args == ["find", False]


def test_up_and_down_go_through_earlier_queries(field, qtbot):
    for query in ("one", "two", "one"):
        field.submit_query(query)
    assert field.history == ("two", "one")
    qtbot.keyClick(field, Qt.Key.Key_Up)
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert field.text() == "two"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == "one"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == ""


def test_an_empty_field_asks_nothing(field, qtbot):
    with qtbot.assertNotEmitted(field.submitted):
        field.submit_query("  ")
    assert field.history == ()
