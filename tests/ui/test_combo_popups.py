"""Lists of combo boxes show all their rows, whole."""

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.look.theme import Theme
from ui.widgets.elided import Choice, ElidedChoice


@pytest.mark.parametrize("zoom", [100, 200])
@pytest.mark.parametrize("rows", [2, 4, 9])
@pytest.mark.parametrize("make", [Choice, lambda: ElidedChoice(6)])
def test_the_last_row_of_a_list_is_not_cut(theme: Theme, qtbot, zoom, rows, make):
    theme.set_zoom(zoom)
    box = make()
    window = QWidget()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(box)
    box.addItems([f"Without titles and other words, {n}" for n in range(rows)])
    box.setCurrentIndex(rows - 1)
    window.show()
    window.activateWindow()
    qtbot.waitActive(window)
    box.setFocus()  # as after a click; the border is another one then
    qtbot.waitUntil(box.hasFocus)
    box.showPopup()
    view = box.view()
    try:
        qtbot.waitExposed(view.window())
        last = view.visualRect(box.model().index(rows - 1, 0))
        assert view.viewport().rect().bottom() >= last.bottom()
        assert view.visualRect(box.model().index(0, 0)).top() >= 0
        assert last.height() >= box.fontMetrics().height()
        longest = box.fontMetrics().horizontalAdvance(box.itemText(rows - 1))
        assert view.viewport().width() >= longest
    finally:
        box.hidePopup()
        theme.set_zoom(100)
