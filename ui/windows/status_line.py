"""The status bar: what was done last with Undo, what the page shows, what is known."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from ui.look.theme import GAP, GROUP, MARGIN, STATUS
from ui.widgets.boxes import STRETCH, hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

UNDO_MS = 10_000  # how long the Undo button stays; Ctrl+Z always works


class StatusLine(QWidget):
    """Message, Undo, the page's result, and the catalogue's size."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(STATUS)
        self.message = ElidedLabel(parent=self, name="statusMessage")
        self.undo = push_button("Undo", look="chip", name="statusUndo", parent=self)
        self.undo.hide()
        self.result = PlainLabel(parent=self, name="statusResult")
        self.catalog = PlainLabel(parent=self, look="faint")
        hbox(
            self.message,
            self.undo,
            STRETCH,
            self.result,
            GROUP - GAP,
            self.catalog,
            inside=self,
            margins=(MARGIN, 2, MARGIN, 2),
        )
        self._timer = QTimer(self, interval=UNDO_MS, singleShot=True)
        self._timer.timeout.connect(self.undo.hide)

    def show_text(self, text: str, *, undoable: bool = False) -> None:
        """Show one sentence and read it out; `undoable` offers Undo for ten seconds."""
        self.message.setText(text)
        self.undo.setVisible(undoable)
        if undoable:
            self._timer.start()
        if text:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
