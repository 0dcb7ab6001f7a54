"""The side sheet that shows exactly what the model would be given."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.catalog import CatalogTool
from app.tokens.host_text import host_text
from ui.theme import Theme


def seen_text(tools: Sequence[CatalogTool]) -> str:
    """The tools' host texts, one a line: what their token counts were made on."""
    return "\n".join(host_text(row.tool.raw) for row in tools)


class ModelSees(QFrame):
    """The exact JSON of the tools that are in, with its size.

    Signals: closed when the user has seen enough.
    """

    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._whole = ""  # the widget's own text loses no-break spaces and line separators
        title = QLabel("What the model sees")
        theme.dress(title, 2, QFont.Weight.DemiBold)
        self._size = QLabel(wordWrap=True)
        self._size.setProperty("faint", True)
        self.text_view = QPlainTextEdit(readOnly=True)
        self.text_view.setObjectName("modelSees")
        self.text_view.setAccessibleName("JSON that the model sees")
        theme.dress_fixed(self.text_view)
        self.text_view.setTabChangesFocus(True)
        self.text_view.setPlaceholderText("No tool is in: the model would see none.")
        copy, close = QPushButton("Copy"), QPushButton("Close")
        copy.clicked.connect(self.copy)
        close.clicked.connect(self.closed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(8)
        for widget in (title, self._size):
            layout.addWidget(widget)
        layout.addWidget(self.text_view, 1)
        buttons = QHBoxLayout()
        buttons.addWidget(copy)
        buttons.addWidget(close)
        buttons.addStretch(1)
        layout.addLayout(buttons)

    @property
    def text(self) -> str:
        """The JSON shown."""
        return self._whole

    @property
    def size_text(self) -> str:
        """The line that tells its size."""
        return self._size.text()

    def show_tools(self, tools: Sequence[CatalogTool], encoding: str) -> None:
        """Show these tools in this order, counted one by one as hosts send them."""
        self._whole = seen_text(tools)
        self.text_view.setPlainText(self._whole)
        tokens = sum(row.cost for row in tools)
        noun = "tool" if len(tools) == 1 else "tools"
        self._size.setText(
            f"{len(tools)} {noun} · {tokens:,} tokens ≈ · counted tool by tool with {encoding}"
            " over name, description and input schema"
        )

    def copy(self) -> None:
        """Put the JSON on the clipboard."""
        QGuiApplication.clipboard().setText(self.text)
