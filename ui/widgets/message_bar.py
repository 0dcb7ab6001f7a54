"""A line at the top of a page: what happened, and at most two things to do about it."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton, QToolButton, QWidget

from app.core.errors import ToolcribError
from ui.look.theme import GAP, MARGIN, Theme
from ui.widgets.boxes import hbox
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import Press

INFO, DONE, WARN, ERROR = "accent", "passed", "warn", "block"
_ICONS = {
    INFO: "information-outline",
    DONE: "check-circle",
    WARN: "alert",
    ERROR: "close-octagon",
}


class Bar(QFrame):
    """A tint with an edge and an icon, all of one kind; hidden at first."""

    def __init__(self, theme: Theme, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messageBar")
        self._theme = theme
        self._icon = PlainLabel(parent=self)
        self.set_kind(kind)
        theme.changed.connect(self.update)
        self.hide()

    def set_kind(self, kind: str) -> None:
        """Take the colours and the icon of INFO, DONE, WARN or ERROR."""
        self._kind = kind
        self._theme.put_icon(self._icon, _ICONS[kind], kind, size=20)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The kind's tint with an edge in its ink."""
        tone = self._theme.colors.tone(self._kind)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(tone.ink)
        painter.setBrush(tone.tint)
        painter.drawRoundedRect(self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.end()


class MessageBar(Bar):
    """Hidden until it has something to say; closing it is up to the user.

    Signals: replaced() when a sentence is shown, or the one that was shown is taken away.
    """

    replaced = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, INFO, parent)
        self._text = PlainLabel(parent=self, wrap=True, name="messageText")
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = [QPushButton(self), QPushButton(self)]
        self._calls: list[Callable[[], object]] = []
        for number, button in enumerate(self._buttons):
            button.clicked.connect(lambda _=False, n=number: self._calls[n]())
        self._close = named(QToolButton(self), "Close message", tip="Close message")
        self._close.clicked.connect(self.clear)
        hbox(
            self._icon,
            (self._text, 1),
            *self._buttons,
            self._close,
            inside=self,
            margins=(MARGIN, 6, GAP, 6),
        )
        theme.put_icon(self._close, "close")

    @property
    def text(self) -> str:
        """The sentence shown, "" when hidden."""
        return self._text.text() if not self.isHidden() else ""

    def show_message(self, kind: str, text: str, *buttons: Press) -> None:
        """Show a sentence; kind is INFO, DONE, WARN or ERROR; at most two buttons."""
        self._text.setText(text)
        self._calls = [call for _, call in buttons]
        for button, spec in zip(self._buttons, [*buttons, None, None], strict=False):
            button.setVisible(spec is not None)
            if spec is not None:
                button.setText(spec[0])
        self.set_kind(kind)
        self.replaced.emit()
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def error(self, error: ToolcribError, *buttons: Press) -> None:
        """Show an error with its hint."""
        self.show_message(ERROR, error.text, *buttons)

    def clear(self) -> None:
        """Hide the line."""
        self.replaced.emit()
        self.hide()
        self._text.clear()
