"""The table of labelled queries with the buttons for its current row."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTreeView, QWidget

from store.records import LabelRecord
from ui.models.query_rows import (
    EXPECTED,
    FOUND,
    QUERY,
    RANK,
    SOURCE,
    TOKENS,
    VERDICT,
    QueryRow,
    QueryTable,
)
from ui.theme import ROW, Theme
from ui.views.delegates import BadgeDelegate
from ui.views.playground_cells import LeanDelegate
from ui.views.rows import as_rows

_WIDTHS = {VERDICT: 116, EXPECTED: 220, FOUND: 190, RANK: 84, TOKENS: 78, SOURCE: 70}
_NARROW = 900  # px; below it the last columns are left out
_QUERY = 180  # px that a query needs at least


class QueryView(QTreeView):
    """Rows of labelled queries.

    Signals: edit_asked(), delete_asked(), try_asked() for the selected rows.
    """

    edit_asked = Signal()
    delete_asked = Signal()
    try_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scaled = theme.scaled
        self.table = QueryTable(self)
        self.setObjectName("querySet")
        self.setAccessibleName("Labelled queries")
        self.setModel(self.table)
        as_rows(self, theme, widths=_WIDTHS, stretched=(QUERY,))
        self.header().setMinimumSectionSize(36)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setItemDelegate(LeanDelegate(theme, self))
        self.setItemDelegateForColumn(VERDICT, BadgeDelegate(theme, ROW, self))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        self.doubleClicked.connect(lambda _index: self.edit_asked.emit())

    @property
    def chosen(self) -> tuple[LabelRecord, ...]:
        """The labels of the selected rows."""
        rows = (self.table.row(index.row()) for index in self.selectionModel().selectedRows())
        return tuple(row.label for row in rows if row is not None)

    def show_rows(self, rows: Sequence[QueryRow]) -> None:
        """Show these rows; the current place is kept."""
        place = max(0, self.currentIndex().row())
        self.table.show(rows)
        if rows and not self.currentIndex().isValid():
            self.setCurrentIndex(self.table.index(min(place, len(rows) - 1), 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and F2 edit, Delete deletes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.edit_asked.emit()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_asked.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow tables do without the columns that matter least."""
        super().resizeEvent(event)
        scaled, width = self._scaled, self.viewport().width()
        for column in (RANK, SOURCE):
            self.setColumnHidden(column, width < scaled(_NARROW))
        shown = [c for c in (VERDICT, TOKENS, RANK, SOURCE) if not self.isColumnHidden(c)]
        room = width - scaled(_QUERY + sum(_WIDTHS[column] for column in shown))
        share = min(1.0, room / scaled(_WIDTHS[EXPECTED] + _WIDTHS[FOUND]))
        for column in (EXPECTED, FOUND):
            self.setColumnWidth(column, max(90, int(scaled(_WIDTHS[column]) * share)))

    def _show_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Edit…", self.edit_asked.emit)
        menu.addAction("Delete", self.delete_asked.emit)
        menu.addAction("Try this query", self.try_asked.emit)
        menu.exec(self.viewport().mapToGlobal(where))
