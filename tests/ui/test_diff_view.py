"""The two panes of a diff."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from ui.widgets.diff_rows import diff_rows, pair_lines
from ui.widgets.diff_view import DiffView

BEFORE = "\n".join(["{", *(f'  "key{n}": 1,' for n in range(30)), '  "command": "npx"', "}"])
AFTER = BEFORE.replace('"npx"', '"toolcrib-gateway"')


@pytest.fixture
def view(qtbot, theme):
    view = DiffView(theme)
    qtbot.addWidget(view)
    view.resize(900, 300)
    view.show_rows(diff_rows(pair_lines(BEFORE, AFTER)))
    view.show()
    qtbot.waitExposed(view)
    return view


def shown(pane):
    return pane.document().toPlainText().splitlines()


def test_each_side_gives_its_whole_text_though_blocks_are_folded(view):
    assert shown(view.before)[0] == "⋯ 28 unchanged lines"
    assert view.before.toPlainText() == BEFORE
    assert view.after.toPlainText() == AFTER


def test_a_click_on_a_fold_opens_it_on_both_sides(view, qtbot):
    qtbot.mouseClick(view.before.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 8))
    assert shown(view.before) == BEFORE.splitlines()
    assert shown(view.after) == AFTER.splitlines()


def test_enter_opens_a_fold(view, qtbot):
    qtbot.keyClick(view.after, Qt.Key.Key_Return)
    assert len(shown(view.before)) == len(BEFORE.splitlines())


def test_both_sides_scroll_together(view, qtbot):
    qtbot.keyClick(view.after, Qt.Key.Key_Return)
    view.resize(900, 120)
    bar = view.after.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 5)
    bar.setValue(5)
    assert view.before.verticalScrollBar().value() == 5


def test_changed_lines_have_a_colour_and_a_sign(view, theme):
    picture = view.after.grab().toImage()
    inks = {
        picture.pixelColor(x, y).name()
        for x in range(0, picture.width(), 3)
        for y in range(picture.height())
    }
    colors = theme.colors
    assert {colors.diff_add.name(), colors.diff_add_word.name()} <= inks
    gutter = {picture.pixelColor(x, y).name() for x in range(3, 20) for y in range(120)}
    assert any(QColor(ink).lightness() < 40 for ink in gutter)  # the sign itself


def test_gaps_align_the_sides_and_are_no_part_of_the_text(view):
    view.show_rows(diff_rows(pair_lines("a\nb\nc", "a\nc")))
    assert shown(view.after) == ["a", "", "c"]
    assert view.after.toPlainText() == "a\nc"


LONG = '{"args": ["' + "a" * 300 + '"], "mine": 1}'


def test_long_lines_are_cut_alike_on_both_sides_and_not_where_it_is_switched_off(view):
    before, after = f"{LONG}\nend", LONG.replace('"a', '"x').replace('"mine": 1', '"mine": 2')
    view.show_rows(diff_rows(pair_lines(before, after + "\nend")))
    lines = [shown(pane) for pane in (view.before, view.after)]
    assert len(lines[0]) == len(lines[1]) > 3
    assert lines[0][-1] == lines[1][-1] == "end"
    for pane, text in ((view.before, before), (view.after, after + "\nend")):
        assert pane.horizontalScrollBar().maximum() == 0
        assert "".join(shown(pane)[:-1]) == text.split("\n")[0]
        assert pane.toPlainText() == text
    view.set_wraps(False)
    assert shown(view.before) == before.split("\n")
    assert view.before.horizontalScrollBar().maximum() > 0


def test_a_changed_word_is_marked_in_whichever_line_it_stands(view):
    view.show_rows(diff_rows(pair_lines(LONG, LONG.replace('"mine": 1', '"mine": 2'))))
    marks = [mark for mark in view.after.extraSelections() if mark.cursor.hasSelection()]
    assert [mark.cursor.selectedText() for mark in marks] == ["2"]


def test_the_cut_follows_the_width(view, qtbot):
    view.show_rows(diff_rows(pair_lines(LONG, LONG + " ")))
    wide = len(shown(view.before))
    view.resize(500, 300)
    qtbot.waitUntil(lambda: len(shown(view.before)) > wide, timeout=20_000)


@pytest.mark.parametrize("width", range(500, 530, 7))
def test_no_width_needs_a_scroll_bar_below(view, qtbot, width):
    view.show_rows(diff_rows(pair_lines(f"{LONG}\n" * 30, f"{LONG} \n" * 30)))
    view.resize(width, 200)
    qtbot.waitUntil(lambda: view.before.verticalScrollBar().maximum() > 0, timeout=20_000)
    for pane in (view.before, view.after):
        assert pane.horizontalScrollBar().maximum() == 0


def test_tabs_are_four_letters_wide(view):
    assert view.before.tabStopDistance() == 4 * view.before.fontMetrics().horizontalAdvance(" ")
