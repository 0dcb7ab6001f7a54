"""The form for a tool's summary: what its description says, and the words it is found by."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.discovery.summaries import MADE, summary_problem
from app.routing.summary import MOST_TOKENS, most_tokens
from store.records import Summary
from ui.text import visible
from ui.theme import MARGIN

_HINT = (
    "Queries are held against this. Write what you would ask for; yours replaces the description,"
    " and no host sees it."
)
_LONGEST = 600  # characters of a description


class SummaryDialog(QDialog):
    """Stays open until what was typed can be used.

    Signals: given(text) then; reset_wanted() for Toolcrib's own summary.
    """

    given = Signal(str)
    reset_wanted = Signal()

    def __init__(
        self, tool_id: str, description: str, summary: Summary, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("summaryDialog")
        self.setWindowTitle("Summary")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 72)
        name = _plain(tool_id)
        cut = description if len(description) <= _LONGEST else f"{description[:_LONGEST]}…"
        told = _plain(visible(cut))
        told.setVisible(bool(cut))
        told.setProperty("faint", True)
        hint = _plain(_HINT)
        self.text = QPlainTextEdit(summary.text)
        self.text.setAccessibleName("Summary")
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(self.fontMetrics().lineSpacing() * 6)
        self.tokens = _plain("")
        self.tokens.setProperty("faint", True)
        self.problem = _plain("")
        self.problem.setProperty("wrong", True)
        self.problem.hide()
        buttons = QDialogButtonBox()
        self.reset = QPushButton("Use Toolcrib's")
        self.reset.setToolTip("Made from the tool's name and description")
        self.reset.setEnabled(summary.source != MADE)
        self.save = QPushButton("Save")
        self.save.setProperty("primary", True)
        self.save.setDefault(True)
        buttons.addButton(self.reset, QDialogButtonBox.ButtonRole.ResetRole)
        buttons.addButton(QPushButton("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self.press)
        buttons.rejected.connect(self.reject)
        self.reset.clicked.connect(self._give_back)
        self.text.textChanged.connect(self._count)
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        for widget in (name, told, hint, self.text, self.tokens, self.problem, buttons):
            column.addWidget(widget)
        self._count()
        self.text.selectAll()
        self.text.setFocus()

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        problem = summary_problem(self.text.toPlainText())
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if problem:
            self.text.setFocus()
            return
        self.given.emit(self.text.toPlainText())
        self.accept()

    def _give_back(self) -> None:
        self.reset_wanted.emit()
        self.accept()

    def _count(self) -> None:
        tokens = most_tokens(" ".join(self.text.toPlainText().split()))
        self.tokens.setText(f"{tokens} of {MOST_TOKENS} tokens at most")


def _plain(text: str) -> QLabel:
    label = QLabel(text, wordWrap=True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
