"""A line at the top of a page: what happened, and at most two things to do about it."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton, QToolButton, QWidget

from app.core.errors import ToolcribError
from ui.look.theme import GAP, MARGIN, Theme
from ui.widgets.boxes import hbox
from ui.widgets.label import PlainLabel

INFO, DONE, WARN, ERROR = "accent", "passed", "warn", "block"
_ICONS = {
    INFO: "information-outline",
    DONE: "check-circle",
    WARN: "alert",
    ERROR: "close-octagon",
}

Button = tuple[str, Callable[[], None]]


def paint_bar(bar: QWidget, theme: Theme, kind: str) -> None:
    """Fill a bar with the tint of its kind, an edge in its ink; for its paintEvent."""
    tone = theme.colors.tone(kind)
    painter = QPainter(bar)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(tone.ink)
    painter.setBrush(tone.tint)
    painter.drawRoundedRect(bar.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
    painter.end()


class MessageBar(QFrame):
    """Hidden until it has something to say; closing it is up to the user.

    Signals: replaced() when a sentence is shown, or the one that was shown is taken away.
    """

    replaced = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messageBar")
        self._theme = theme
        self._kind = INFO
        self._icon = PlainLabel(parent=self)
        self._text = PlainLabel(parent=self, wrap=True, name="messageText")
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = [QPushButton(self), QPushButton(self)]
        self._calls: list[Callable[[], None]] = []
        for number, button in enumerate(self._buttons):
            button.clicked.connect(lambda _=False, n=number: self._press(n))
        self._close = QToolButton(self)
        self._close.setAccessibleName("Close message")
        self._close.setToolTip("Close message")
        self._close.clicked.connect(self.clear)
        hbox(
            self._icon,
            (self._text, 1),
            *self._buttons,
            self._close,
            inside=self,
            margins=(MARGIN, 6, GAP, 6),
        )
        theme.changed.connect(self._recolor)
        self._recolor()
        self.hide()

    @property
    def text(self) -> str:
        """The sentence shown, "" when hidden."""
        return self._text.text() if not self.isHidden() else ""

    def show_message(self, kind: str, text: str, *buttons: Button) -> None:
        """Show a sentence; kind is INFO, DONE, WARN or ERROR; at most two buttons."""
        self._kind = kind
        self._text.setText(text)
        self._calls = [call for _, call in buttons]
        for button, spec in zip(self._buttons, [*buttons, None, None], strict=False):
            button.setVisible(spec is not None)
            if spec is not None:
                button.setText(spec[0])
        self._recolor()
        self.replaced.emit()
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def error(self, error: ToolcribError, *buttons: Button) -> None:
        """Show an error with its hint."""
        self.show_message(ERROR, error.text, *buttons)

    def clear(self) -> None:
        """Hide the line."""
        self.replaced.emit()
        self.hide()
        self._text.clear()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The kind's tint with an edge in its ink."""
        paint_bar(self, self._theme, self._kind)

    def _press(self, number: int) -> None:
        self._calls[number]()

    def _recolor(self) -> None:
        theme, ratio = self._theme, self.devicePixelRatioF()
        ink, size = theme.colors.tone(self._kind).ink, theme.scaled(20)
        self._icon.setPixmap(theme.icons.pixmap(_ICONS[self._kind], ink, size, ratio))
        self._close.setIcon(self._theme.icons.icon("close"))
        self.update()
