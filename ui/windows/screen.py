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
        _move(window, frame, area)


def bring_into_view(window: QWidget) -> None:
    """Move a window that grew with its page or its text back within its screen."""
    screen = window.screen()
    if screen is not None and window.isVisible() and not window.isMaximized():
        _move(window, window.frameGeometry(), screen.availableGeometry())


def _move(window: QWidget, frame: QRect, area: QRect) -> None:
    """Move a window that is not in the area; else its frame, unknown as yet, would move it on."""
    place = placed(frame, area).topLeft()
    if place != frame.topLeft():
        window.move(place)


def placed(frame: QRect, area: QRect) -> QRect:
    """The frame moved so that it lies within the area, its title bar above all."""
    left = min(frame.left(), area.right() - frame.width() + 1)
    top = min(frame.top(), area.bottom() - frame.height() + 1)
    return QRect(max(area.left(), left), max(area.top(), top), frame.width(), frame.height())
