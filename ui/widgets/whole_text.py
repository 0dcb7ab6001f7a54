"""A text that is shown to its last character: it wraps, and scrolls once it is too tall."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy

_MOST_LINES = 6


class WholeText(QPlainTextEdit):
    """Plain text to read, select and copy; nothing of it is cut, as a label would do."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        option = self.document().defaultTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        # a word in a script that runs leftwards must not change places with its neighbours
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def text(self) -> str:
        """All of it."""
        return self.toPlainText()

    def setText(self, text: str) -> None:
        """Show a text from its beginning."""
        if text != self.toPlainText():
            self.setPlainText(text)
            self._fit()

    def _fit(self) -> None:
        """As tall as the text, up to some lines."""
        every = int(self.document().size().height())
        lines = min(every, _MOST_LINES)
        needed, never = Qt.ScrollBarPolicy.ScrollBarAsNeeded, Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(needed if every > lines else never)
        margin = 2 * int(self.document().documentMargin())
        self.setFixedHeight(max(1, lines) * self.fontMetrics().lineSpacing() + margin)
