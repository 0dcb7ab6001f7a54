"""The table of labelled queries with the buttons for its current row."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTreeView

from store.records import LabelRecord
from ui.look.theme import Theme
from ui.pages.query_set.query_rows import (
    ALONE,
    COLUMNS,
    EXPECTED,
    FOUND,
    RANK,
    SOURCE,
    QueryRow,
    QueryTable,
)
from ui.widgets.columns import place
from ui.widgets.delegates import LeanDelegate
from ui.widgets.rows import as_rows
from ui.widgets.table_tools import tools_of

_LEAST, _SHARING = (
    tuple(place(COLUMNS, t) for t in (RANK, ALONE, SOURCE)),
    tuple(place(COLUMNS, t) for t in (EXPECTED, FOUND)),
)
_NARROW = 900  # px; below it the last columns are left out
_QUERY = 180  # px that a query needs at least


class QueryView(QTreeView):
    """Rows of labelled queries.

    Signals: edit_requested(), delete_requested(), try_requested() for the selected rows.
    """

    edit_requested = Signal()
    delete_requested = Signal()
    try_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._scaled = theme.scaled
        self.table = QueryTable(self)
        self.setObjectName("querySet")
        self.setAccessibleName("Labelled queries")
        self.setModel(self.table)
        as_rows(self, theme, COLUMNS, delegate=LeanDelegate)
        self.header().setMinimumSectionSize(36)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        self.doubleClicked.connect(lambda _index: self.edit_requested.emit())

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
            self.edit_requested.emit()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_requested.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow tables do without the columns that matter least."""
        super().resizeEvent(event)
        scaled, width = self._scaled, self.viewport().width()
        for number in _LEAST:
            tools_of(self).hide(number, width < scaled(_NARROW))
        others = sum(
            column.width
            for number, column in enumerate(COLUMNS)
            if number not in _SHARING and not self.isColumnHidden(number)
        )
        room = width - scaled(_QUERY + others)
        share = min(1.0, room / scaled(sum(COLUMNS[number].width for number in _SHARING)))
        for number in _SHARING:
            self.setColumnWidth(number, max(90, int(scaled(COLUMNS[number].width) * share)))

    def _show_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Edit…", self.edit_requested.emit)
        menu.addAction("Delete", self.delete_requested.emit)
        menu.addAction("Try this query", self.try_requested.emit)
        menu.exec(self.viewport().mapToGlobal(where))
