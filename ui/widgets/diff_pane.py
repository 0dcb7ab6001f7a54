"""One side of a diff: read-only text with signs in its gutter and marks on changed words."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from ui.look.theme import Theme
from ui.widgets.diff_rows import CHANGED, FOLD, SAME, TAB, DiffRow, Span, pieces

_LEAST_COLUMNS = 20  # below, a wrapped line says nothing


@dataclass(frozen=True, slots=True)
class _Line:
    """One line as shown: the number of its row among all, the row, its part of the row's text."""

    number: int
    row: DiffRow
    part: Span

    @property
    def end(self) -> int:
        return self.part[0] + self.part[1]


class DiffPane(QPlainTextEdit):
    """The lines of one side.

    Signals: fold_toggled(row) when the user opens a folded block.
    """

    fold_toggled = Signal(int)

    def __init__(self, *, sign: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        theme.dress_fixed(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._fit_tabs()
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)  # else a line's tint stops short of the gutter
        self.sign = sign
        self._theme = theme
        self._lines: list[_Line] = []  # as shown
        self._all: Sequence[DiffRow] = ()
        self._gutter = _Gutter(self)
        self.updateRequest.connect(self._follow)
        self._fit_gutter()
        theme.changed.connect(self._recolor)

    def show_rows(self, rows: Sequence[DiffRow], opened: frozenset[int], columns: int = 0) -> None:
        """Show these rows; `opened` are the numbers of fold rows whose lines are visible.

        Rows longer than `columns` are cut alike on both sides, 0 cuts none.
        """
        self._all = rows
        self._lines = [
            _Line(number, row, both[self.sign == "+"])
            for number, row in _visible(rows, opened)
            for both in pieces(row, columns)
        ]
        self.setPlainText("\n".join(map(self._text, self._lines)))
        self._mark()

    def columns(self) -> int:
        """Number of letters that fit side by side."""
        room = self.contentsRect().width() - self.gutter_width()
        room -= self.verticalScrollBar().sizeHint().width()
        letter = QFontMetricsF(self.font()).horizontalAdvance("m" * 100) / 100
        return max(_LEAST_COLUMNS, int(room / letter) - 1)  # one for the cursor

    def _recolor(self) -> None:
        self._mark()
        self._gutter.update()

    def toPlainText(self) -> str:
        """The side's whole text: without gaps, with the lines that are folded away."""
        return "\n".join(text for row in self._all if (text := self.line(row)) is not None)

    def line(self, row: DiffRow) -> str | None:
        """This side's line of a row, None where it has none."""
        return row.left if self.sign == "-" else row.right

    def gutter_width(self) -> int:
        """Room for the sign, in pixels."""
        return self.fontMetrics().horizontalAdvance("+") + 18

    def paint_gutter(self, painter: QPainter) -> None:
        """Draw the signs of the visible lines."""
        painter.setFont(self.font())
        block, height = self.firstVisibleBlock(), self.fontMetrics().height()
        for line in self._lines[block.blockNumber() :]:
            top = self._top(block)
            if top > self.viewport().height():
                break
            changed = line.row.kind not in (SAME, FOLD) and self.line(line.row) is not None
            if changed:
                painter.fillRect(QRect(0, top, self.gutter_width(), height), self._line_ink)
            if changed and not line.part[0]:  # the first line of a row that is cut
                painter.setPen(self._theme.colors.text)
                painter.drawText(QPoint(7, top + self.fontMetrics().ascent()), self.sign)
            block = block.next()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on a folded block opens it."""
        number = self.cursorForPosition(event.position().toPoint()).blockNumber()
        if event.button() == Qt.MouseButton.LeftButton and self._is_fold(number):
            self.fold_toggled.emit(self._lines[number].number)
            return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter on a folded block opens it."""
        number = self.textCursor().blockNumber()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._is_fold(number):
            self.fold_toggled.emit(self._lines[number].number)
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge."""
        super().resizeEvent(event)
        self._fit_gutter()

    def changeEvent(self, event: QEvent) -> None:
        """Tabs are four letters wide in every font, not 80 pixels."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_tabs()

    def _fit_tabs(self) -> None:
        self.setTabStopDistance(TAB * self.fontMetrics().horizontalAdvance(" "))

    def _fit_gutter(self) -> None:
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        area = self.contentsRect()
        self._gutter.setGeometry(area.left(), area.top(), self.gutter_width(), area.height())

    def _follow(self, area: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, area.y(), self._gutter.width(), area.height())

    def _top(self, block: QTextBlock) -> int:
        return round(self.blockBoundingGeometry(block).translated(self.contentOffset()).top())

    def _is_fold(self, number: int) -> bool:
        return 0 <= number < len(self._lines) and self._lines[number].row.kind == FOLD

    def _text(self, line: _Line) -> str:
        if line.row.kind == FOLD:
            return f"⋯ {line.row.hidden} unchanged lines"
        return (self.line(line.row) or "")[line.part[0] : line.end]

    def _mark(self) -> None:
        marks: list[QTextEdit.ExtraSelection] = []
        for number, line in enumerate(self._lines):
            row = line.row
            ink = self._ink(row)
            if ink is None:
                continue
            marks.append(self._selection(number, ink, None))
            words, word = self._words(row)
            for start, length in words:
                first, end = max(start, line.part[0]), min(start + length, line.end)
                if first < end:
                    span = (first - line.part[0], end - first)
                    marks.append(self._selection(number, word, span))
        self.setExtraSelections(marks)

    @property
    def _line_ink(self) -> QColor:
        colors = self._theme.colors
        return colors.diff_remove if self.sign == "-" else colors.diff_add

    def _words(self, row: DiffRow) -> tuple[Sequence[Span], QColor]:
        """The changed words of this side's line, and their colour."""
        colors = self._theme.colors
        if self.sign == "-":
            return row.left_words, colors.diff_remove_word
        return row.right_words, colors.diff_add_word

    def _ink(self, row: DiffRow) -> QColor | None:
        if row.kind in (SAME, FOLD):
            return self._theme.colors.neutral.tint if row.kind == FOLD else None
        if row.kind == CHANGED or self.line(row) is not None:
            return self._line_ink
        return self._theme.colors.alternate

    def _selection(self, number: int, ink: QColor, span: Span | None) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document().findBlockByNumber(number))
        form = mark.format
        form.setBackground(ink)
        if span is None:
            form.setProperty(QTextFormat.Property.FullWidthSelection, True)
        else:
            start = cursor.position() + span[0]
            cursor.setPosition(start)
            cursor.setPosition(start + span[1], QTextCursor.MoveMode.KeepAnchor)
        mark.format = form
        mark.cursor = cursor
        return mark


class _Gutter(QWidget):
    def __init__(self, pane: DiffPane) -> None:
        super().__init__(pane)
        self._pane = pane

    def sizeHint(self) -> QSize:
        return QSize(self._pane.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._pane.palette().base())
        self._pane.paint_gutter(painter)
        painter.end()


def _visible(rows: Sequence[DiffRow], opened: frozenset[int]) -> list[tuple[int, DiffRow]]:
    shown, skip = [], 0
    for number, row in enumerate(rows):
        if row.kind == FOLD:
            if number not in opened:
                shown.append((number, row))
                skip = row.hidden
            continue
        if skip:
            skip -= 1
            continue
        shown.append((number, row))
    return shown
