"""The window fits its screen."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QWidget

from ui.windows.screen import bring_into_view, fit_screen, placed

LAPTOP = QRect(0, 0, 1366, 728)  # 1366x768 with a panel below


def test_a_window_larger_than_the_screen_is_made_to_fit(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(4000, 3000)
    fit_screen(window)
    area = window.screen().availableGeometry()
    assert window.width() < area.width() and window.height() < area.height()


def test_a_window_of_a_screen_that_is_gone_comes_back_into_view():
    lost = QRect(2400, -900, 1280, 700)
    assert LAPTOP.contains(placed(lost, LAPTOP))


def test_a_window_that_fits_stays_where_it_is():
    assert placed(QRect(20, 10, 800, 600), LAPTOP) == QRect(20, 10, 800, 600)


def test_a_window_before_its_first_show_leaves_room_for_the_title_bar_below_too(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    area = window.screen().availableGeometry()
    window.setGeometry(30, 30, 600, area.height() - 40)
    fit_screen(window)
    assert window.frameGeometry().bottom() + 20 <= area.bottom()


def test_a_window_that_grew_comes_back_within_its_screen(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    area = window.screen().availableGeometry()
    window.setGeometry(10, area.bottom() - 300, 400, 600)
    bring_into_view(window)
    assert window.y() == area.bottom() - 300  # nobody sees it
    window.show()
    bring_into_view(window)
    assert area.contains(window.frameGeometry())
    assert window.size() == QSize(400, 600)
