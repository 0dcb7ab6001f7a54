"""The score strip: marks, the line by mouse and by keys."""

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QVBoxLayout, QWidget

from ui.look.colors import LIGHT
from ui.pages.playground.score_strip import ScoreStrip
from ui.pages.query_set.calibration_plot import CalibrationPlot
from ui.shell.strip_marks import HELD, IN, OUT, Mark, spread

MARKS = [Mark(f"s/t{n}", n / 20, IN if n > 11 else OUT) for n in range(20)]
NONE = Qt.MouseButton.NoButton
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def strip(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    strip = ScoreStrip(LIGHT)
    QVBoxLayout(page).addWidget(strip)
    page.resize(800, 140)
    page.show()
    qtbot.waitExposed(page)
    strip.show_marks(MARKS, 0.55, "0.55   8 in · 12 out")
    QApplication.processEvents()
    yield strip
    del page  # held until here: it owns the strip


def send(strip, kind, point: QPointF, button, held):
    where = QPointF(strip.viewport().mapToGlobal(point))
    event = QMouseEvent(kind, point, where, button, held, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(strip.viewport(), event)
    QApplication.processEvents()


def drag(strip, start: float, end: float, steps: int = 10):
    points = [strip.point_of(start + (end - start) * step / steps) for step in range(steps + 1)]
    send(strip, QEvent.Type.MouseMove, points[0], NONE, NONE)
    send(strip, QEvent.Type.MouseButtonPress, points[0], LEFT, LEFT)
    for point in points[1:]:
        send(strip, QEvent.Type.MouseMove, point, NONE, LEFT)
    send(strip, QEvent.Type.MouseButtonRelease, points[-1], LEFT, NONE)


def test_dragging_the_line_tells_each_place_and_settles_once(strip):
    moves, ends = [], []
    strip.moved.connect(moves.append)
    strip.settled.connect(lambda old, new: ends.append((old, new)))
    drag(strip, 0.55, 0.40)
    assert len(moves) >= 8
    assert moves[-1] == pytest.approx(0.40, abs=0.01)
    ((old, new),) = ends
    assert (old, new) == (pytest.approx(0.55, abs=0.01), pytest.approx(0.40, abs=0.01))


def test_arrow_keys_move_by_a_hundredth_and_with_shift_by_five(strip, qtbot):
    ends = []
    strip.settled.connect(lambda old, new: ends.append((old, new)))
    qtbot.keyClick(strip, Qt.Key.Key_Left)
    qtbot.keyClick(strip, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert ends == [(0.55, 0.54), (0.54, 0.59)]
    assert strip.threshold == pytest.approx(0.59)


def test_the_line_stays_between_zero_and_one(strip, qtbot):
    strip.show_marks(MARKS, 0.99, "")
    qtbot.keyClick(strip, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert strip.threshold == 1.0


def test_a_click_on_a_mark_names_its_tool(strip, qtbot):
    place = strip.mapFromScene(
        strip.getViewBox().mapViewToScene(QPointF(MARKS[16].score, spread(16)))
    )
    with qtbot.waitSignal(strip.picked) as picked:
        point = QPointF(place)
        send(strip, QEvent.Type.MouseMove, point, NONE, NONE)
        send(strip, QEvent.Type.MouseButtonPress, point, LEFT, LEFT)
        send(strip, QEvent.Type.MouseButtonRelease, point, LEFT, NONE)
    assert picked.args == ["s/t16"]


def test_the_wheel_and_the_mouse_zoom_nothing(strip):
    before = strip.viewRange()
    strip.show_marks([Mark("s/t", 0.5, HELD)], 0.2, "0.20")
    assert strip.viewRange() == before


def test_the_label_changes_sides_near_the_left_edge(strip):
    strip.show_marks(MARKS, 0.02, "0.02   19 in · 1 out")
    left = strip.grab().toImage()
    assert not left.isNull()
    assert strip.label == "0.02   19 in · 1 out"


def test_a_drag_takes_the_focus_so_that_undo_concerns_it(strip):
    strip.parentWidget().activateWindow()
    drag(strip, 0.55, 0.40)
    assert strip.hasFocus()


@pytest.mark.parametrize("kind", [ScoreStrip, CalibrationPlot])
def test_a_plot_makes_no_menus_that_would_outlive_it(qapp, qtbot, kind):
    before = set(qapp.topLevelWidgets())
    plot = kind(LIGHT)
    qtbot.addWidget(plot)
    new = set(qapp.topLevelWidgets()) - before
    assert not [one for one in new if isinstance(one, QMenu)]
