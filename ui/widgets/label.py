"""A label that shows its text as it is written; Qt's own takes what looks like HTML for it."""

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

Look = Literal["", "faint", "wrong"]  # as the style sheet has them


class PlainLabel(QLabel):
    """A label for any text, also one that a server wrote."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        wrap: bool = False,
        look: Look = "",
        name: str = "",
        buddy: QWidget | None = None,
    ) -> None:
        """Make one; `buddy` gets the focus by the letter behind the text's &."""
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self.setObjectName(name)
        if look:
            self.setProperty(look, True)
        if buddy is not None:
            self.setBuddy(buddy)

    def say(self, text: str) -> None:
        """Show this text; without one the label is hidden."""
        self.setText(text)
        self.setVisible(bool(text))
