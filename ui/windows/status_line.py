"""The status bar: what was done last with Undo, what the page shows, what is known."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from ui.look.theme import GAP, GROUP, MARGIN, STATUS
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel

UNDO_MS = 10_000  # how long the Undo button stays; Ctrl+Z always works


class StatusLine(QWidget):
    """Message, Undo, the page's result, and the catalogue's size."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumHeight(STATUS)
        self.message = ElidedLabel(parent=self)
        self.message.setObjectName("statusMessage")
        self.undo = QPushButton("Undo", self)
        self.undo.setObjectName("statusUndo")
        self.undo.setProperty("chip", True)
        self.undo.hide()
        self.result = PlainLabel(parent=self)
        self.result.setObjectName("statusResult")
        self.catalog = PlainLabel(parent=self)
        self.catalog.setProperty("faint", True)
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, 2, MARGIN, 2)
        row.setSpacing(GAP)
        row.addWidget(self.message)
        row.addWidget(self.undo)
        row.addStretch(1)
        row.addWidget(self.result)
        row.addSpacing(GROUP - GAP)
        row.addWidget(self.catalog)
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
