"""The filter line: checked while typing; a wrong line keeps the last good result."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from ui.look.theme import GAP, Theme
from ui.widgets.filter_query import IS, FilterError, parse

DELAY_MS = 150


@dataclass(frozen=True, slots=True)
class FilterWords:
    """What a filter line says of itself, and its saved filters as (title, line)."""

    name: str
    example: str
    keys: str  # the tooltip
    chips: Sequence[tuple[str, str]]
    states: Sequence[str] = IS  # what is: knows


class FilterLine(QWidget):
    """A line edit with its error below and saved filters beside it.

    Signals: filtered(Filter) with every good line; left() on Down.
    """

    filtered = Signal(object)
    left = Signal()

    def __init__(self, theme: Theme, words: FilterWords, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._saved, self._states = words.chips, words.states
        self.edit = _Line(self)
        self.edit.setObjectName("filterEdit")
        self.edit.setAccessibleName(words.name)
        self.edit.setPlaceholderText(f"{words.name}   {words.example}")
        self.edit.setToolTip(words.keys)
        self.edit.setClearButtonEnabled(True)
        self._action = self.edit.addAction(
            theme.icons.icon("filter-outline"), QLineEdit.ActionPosition.LeadingPosition
        )
        self._action.setText("Filter")
        theme.changed.connect(lambda: self._action.setIcon(theme.icons.icon("filter-outline")))
        self.error = QLabel(self)
        self.error.setObjectName("filterError")
        self.error.setProperty("wrong", True)
        self.error.hide()
        self.chips = [self._chip(text, line) for text, line in words.chips]
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self.edit, 1)
        for chip in self.chips:
            row.addWidget(chip)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.error)
        self._timer = QTimer(self, interval=DELAY_MS, singleShot=True)
        self._timer.timeout.connect(self.apply)
        self.edit.textChanged.connect(lambda: self._timer.start())
        self.edit.returnPressed.connect(self.apply)
        self.edit.downed.connect(self.left)

    def show_counts(self, counts: tuple[int, ...]) -> None:
        """Numbers on the saved filters; those that find nothing are hidden."""
        for chip, (text, _), number in zip(self.chips, self._saved, counts, strict=True):
            chip.setText(f"{text} {number}")
            chip.setVisible(number > 0)

    def set_text(self, text: str) -> None:
        """Put a line in and apply it at once."""
        self.edit.setText(text)
        self.apply()

    def add_term(self, term: str) -> None:
        """Narrow what is shown by one more term."""
        before = self.edit.text().strip()
        if term not in before.split(" "):
            self.set_text(f"{before} {term}".strip())

    def clear(self) -> bool:
        """Empty the line; False when it was empty."""
        had = bool(self.edit.text())
        self.set_text("")
        return had

    def apply(self) -> None:
        """Take the line as it is now."""
        self._timer.stop()
        text = self.edit.text()
        for chip, (_, line) in zip(self.chips, self._saved, strict=True):
            chip.setChecked(line == text.strip())
        try:
            parsed = parse(text, self._states)
        except FilterError as error:
            self._show_error(error.title)
            return
        self._show_error("")
        self.filtered.emit(parsed)

    def _chip(self, text: str, line: str) -> QPushButton:
        chip = QPushButton(text, self)
        chip.setProperty("chip", True)
        chip.setCheckable(True)
        chip.setAccessibleName(f"Saved filter: {text}")
        chip.setToolTip(line)
        chip.clicked.connect(lambda on: self.set_text(line if on else ""))
        chip.hide()
        return chip

    def _show_error(self, text: str) -> None:
        self.error.setText(text)
        self.error.setVisible(bool(text))
        if self.edit.property("wrong") != bool(text):
            self.edit.setProperty("wrong", bool(text))
            self.edit.style().unpolish(self.edit)
            self.edit.style().polish(self.edit)


class _Line(QLineEdit):
    downed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.downed.emit()
        else:
            super().keyPressEvent(event)
