"""Fonts that a theme gives survive every change of the look, however late they were given."""

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.widgets.label import PlainLabel


@pytest.mark.parametrize("late", [False, True], ids=["before it is shown", "after it is shown"])
def test_a_font_of_ones_own_survives_a_change_of_colours(theme, qtbot, late):
    window, label = QWidget(), PlainLabel("A title")
    QVBoxLayout(window).addWidget(label)
    qtbot.addWidget(window)
    if not late:
        theme.dress(label, 2, QFont.Weight.DemiBold)
    window.show()
    qtbot.waitExposed(window)
    if late:
        theme.dress(label, 2, QFont.Weight.DemiBold)
    before = label.font()
    theme.choose("dark")
    assert label.font() == before and label.font().weight() == QFont.Weight.DemiBold
