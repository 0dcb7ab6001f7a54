"""The treemap as a widget: clicks, zoom, tooltips, both themes and twice the resolution."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip

from ui.pages.catalog.treemap import Treemap, describe
from ui.pages.catalog.treemap_layout import Cell, Group, Item


def items(first: int, *tokens: int) -> tuple[Item, ...]:
    return tuple(
        Item(first + n, f"tool_{first + n}", t, on=n % 2 == 0, held=n == 2)
        for n, t in enumerate(tokens)
    )


@pytest.fixture
def treemap(theme, qtbot) -> Treemap:
    widget = Treemap(theme)
    qtbot.addWidget(widget)
    widget.resize(600, 200)
    widget.show_groups(
        [Group("github", 0, items(10, 900, 600, 300)), Group("time", 1, items(20, 400, *[1] * 40))]
    )
    widget.show()
    return widget


def middle(box) -> QPoint:
    return QPointF(box.x + box.width / 2, box.y + box.height / 2).toPoint()


def test_a_click_chooses_the_tool_or_the_server(treemap: Treemap, qtbot):
    field = treemap.fields[0]
    with qtbot.waitSignal(treemap.tool_chosen) as caught:
        QTest.mouseClick(treemap, Qt.MouseButton.LeftButton, pos=middle(field.cells[1].box))
    assert caught.args == [11]
    header = QPoint(int(field.box.x) + 5, int(field.box.y) + 5)
    with qtbot.waitSignal(treemap.server_chosen) as caught:
        QTest.mouseClick(treemap, Qt.MouseButton.LeftButton, pos=header)
    assert caught.args == ["github"]


def test_a_double_click_zooms_in_and_out(treemap: Treemap):
    place = middle(treemap.fields[1].box)
    QTest.mouseDClick(treemap, Qt.MouseButton.LeftButton, pos=place)
    assert treemap.zoomed == "time" and len(treemap.fields) == 1
    QTest.mouseDClick(treemap, Qt.MouseButton.LeftButton, pos=place)
    assert treemap.zoomed == "" and len(treemap.fields) == 2


def test_a_zoomed_server_that_is_gone_leaves_the_zoom(treemap: Treemap):
    treemap.zoom("time")
    treemap.show_groups([Group("github", 0, items(10, 900))])
    assert treemap.zoomed == "" and len(treemap.fields) == 1


def test_arrows_go_by_size(treemap: Treemap):
    chosen = []
    treemap.tool_chosen.connect(chosen.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left):
        QTest.keyClick(treemap, key)
    assert chosen == [10, 11, 20, 11]


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # tooltips, offscreen
def test_the_tooltip_says_what_is_there(treemap: Treemap):
    cell = treemap.fields[0].cells[2]
    place = middle(cell.box)
    treemap.event(QHelpEvent(QEvent.Type.ToolTip, place, treemap.mapToGlobal(place)))
    assert QToolTip.text() == "github/tool_12: 300 tokens ≈, held back"
    QToolTip.hideText()
    assert describe(treemap.fields[0].cells[1]) == "github/tool_11: 600 tokens ≈, off"
    small = Cell(cell.box, items(30, *[1] * 40), Group("time", 1, ()))
    assert describe(small) == "40 small tools of time: 40 tokens ≈"


def test_the_outline_follows_the_mouse(treemap: Treemap):
    before = treemap.grab().toImage()
    QTest.mouseMove(treemap, middle(treemap.fields[0].cells[0].box))
    assert treemap.grab().toImage() != before
    treemap.leaveEvent(QEvent(QEvent.Type.Leave))
    assert treemap.grab().toImage() == before


def test_a_theme_change_repaints_it(treemap: Treemap, theme):
    light = treemap.grab().toImage()
    theme.choose("dark")
    assert treemap.grab().toImage() != light
    theme.choose("light")
    assert treemap.grab().toImage() == light


def test_it_tells_screen_readers_what_it_shows(treemap: Treemap):
    assert treemap.accessibleDescription().startswith("2 servers, 2,240 tokens")
