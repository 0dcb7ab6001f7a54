"""In a form that scrolls, the wheel scrolls: only a field with the focus takes it."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget


class WheelGuard(QObject):
    """Keeps the wheel from the fields that are given to it."""

    def look_after(self, field: QWidget) -> None:
        """The wheel no longer gives this field the focus, nor changes it without."""
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hand the wheel on to what scrolls."""
        wheel = event.type() == QEvent.Type.Wheel
        if wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)
