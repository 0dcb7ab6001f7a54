"""A label that shows its text as it is written; Qt's own takes what looks like HTML for it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


class PlainLabel(QLabel):
    """A label for any text, also one that a server wrote."""

    def __init__(
        self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False
    ) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
