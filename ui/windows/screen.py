"""A window that its screen can show whole."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

_FRAME = QSize(16, 40)  # pixels for the title bar and borders, before the system says how many


def fit_screen(window: QWidget) -> None:
    """Keep the window within what its screen leaves free: at the start, and when a screen goes."""
    screen = window.screen() or QGuiApplication.primaryScreen()
    if screen is not None:
        area = screen.availableGeometry()
        window.resize(window.size().boundedTo(area.size() - _FRAME))
        frame = window.frameGeometry()
        if frame.size() == window.size():  # the system has not said yet
            frame.setSize(frame.size() + _FRAME)
        window.move(placed(frame, area).topLeft())


def placed(frame: QRect, area: QRect) -> QRect:
    """The frame moved so that it stands within the area, its title bar above all."""
    left = min(frame.left(), area.right() - frame.width() + 1)
    top = min(frame.top(), area.bottom() - frame.height() + 1)
    return QRect(max(area.left(), left), max(area.top(), top), frame.width(), frame.height())
