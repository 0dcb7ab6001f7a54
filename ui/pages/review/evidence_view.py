"""The pane that a decision is made on: plain text, changes and hidden characters marked."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFont, QPaintEvent, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from ui.look.theme import GAP, Theme
from ui.pages.review.evidence import FOUND, HEAD, NOTE, EvidenceLine
from ui.widgets.diff_rows import ADDED, REMOVED, SAME

_SIGNS = {ADDED: "+ ", REMOVED: "- ", SAME: "  "}


class EvidenceView(QTextEdit):
    """Shows evidence; nothing in it can be clicked.

    Signals: seen() once the lines shown were painted to their end.
    """

    seen = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("evidence")
        self.setAccessibleName("Evidence")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._theme = theme
        self._lines: Sequence[EvidenceLine] = ()
        self._unseen = False
        theme.changed.connect(self._fill)

    def show_lines(self, lines: Sequence[EvidenceLine]) -> None:
        """Show these from the top."""
        self._lines, self._unseen = lines, True
        self._fill()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell when the last of the lines was on the screen."""
        super().paintEvent(event)
        bar = self.verticalScrollBar()
        if self._unseen and bar.value() >= bar.maximum():
            self._unseen = False
            self.seen.emit()

    def _fill(self) -> None:
        self.clear()
        cursor = self.textCursor()
        for number, line in enumerate(self._lines):
            block, font = self._forms(line, first=number == 0)
            if number:
                cursor.insertBlock(block, font)
            else:
                cursor.setBlockFormat(block)
            self._write(cursor, line, font)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _forms(
        self, line: EvidenceLine, *, first: bool
    ) -> tuple[QTextBlockFormat, QTextCharFormat]:
        colors = self._theme.colors
        block, font = QTextBlockFormat(), QTextCharFormat()
        block.setTopMargin(GAP + 4 if line.kind == HEAD and not first else 1)
        backs = {ADDED: colors.diff_add, REMOVED: colors.diff_remove, FOUND: colors.warn.tint}
        if line.kind in backs:
            block.setBackground(backs[line.kind])
        if line.kind in (HEAD, NOTE, FOUND):
            font.setFont(self._theme.font(0, _WEIGHTS.get(line.kind, QFont.Weight.Normal)))
        else:
            font.setFont(self._theme.fixed())
        font.setForeground(colors.text2 if line.kind == NOTE else colors.text)
        return block, font

    def _write(self, cursor: QTextCursor, line: EvidenceLine, font: QTextCharFormat) -> None:
        cursor.insertText(_SIGNS.get(line.kind, ""), font)
        done = 0
        for start, length in sorted(line.marks):
            if start < done:
                continue  # a hidden character within a changed word
            cursor.insertText(line.text[done:start], font)
            done = start + length
            cursor.insertText(line.text[start:done], self._marked(line, font))
        cursor.insertText(line.text[done:], font)

    def _marked(self, line: EvidenceLine, font: QTextCharFormat) -> QTextCharFormat:
        marked = QTextCharFormat(font)
        marked.setFontWeight(QFont.Weight.Bold)
        marked.setBackground(self._mark_ink(line.kind))
        return marked

    def _mark_ink(self, kind: str) -> QColor:
        colors = self._theme.colors
        inks = {ADDED: colors.diff_add_word, REMOVED: colors.diff_remove_word}
        return inks.get(kind, colors.block.tint)


_WEIGHTS = {HEAD: QFont.Weight.DemiBold}
