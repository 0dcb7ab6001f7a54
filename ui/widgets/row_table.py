"""A table of rows under columns."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from ui.widgets.columns import Column, cell_value, head_data, place, side
from ui.widgets.guarded import Guarded

R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_ROLE = Qt.ItemDataRole


class RowTable(Guarded, QAbstractTableModel, Generic[R]):
    """Rows, and what their columns say of them."""

    def __init__(self, columns: Sequence[Column[R]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self._rows: list[R] = []

    @property
    def rows(self) -> Sequence[R]:
        """Rows in the table."""
        return self._rows

    def row(self, number: int) -> R | None:
        """The row of that number, None where there is none."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def place(self, title: str) -> int:
        """The number of the column with that title."""
        return place(self.columns, title)

    def replace_rows(self, rows: Sequence[R]) -> None:
        """Show these instead."""
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rows_changed(self, first: int = 0, last: int | None = None) -> None:
        """Draw rows again, all of them by default; they stay where they are."""
        end = len(self._rows) - 1 if last is None else last
        if end >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(end, len(self.columns) - 1))

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> object:
        """The column's name, its explanation and its side."""
        return head_data(self.columns, section, orientation, role)

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> object:
        """Text, side, and what else the column's roles answer; screen readers get the text."""
        row = self.row(index.row()) if index.isValid() else None
        if row is None:
            return None
        column = self.columns[index.column()]
        answer = column.roles.get(role)
        if answer is not None:
            return cell_value(answer(row), role)
        if role in (_ROLE.DisplayRole, _ROLE.AccessibleTextRole):
            return column.text(row)
        if role == _ROLE.TextAlignmentRole:
            return side(column)
        return cell_value(self.row_data(row, role), role)

    def row_data(self, _row: R, _role: int) -> object:
        """Content that all cells of a row have in common in a role, such as FAINT."""
        return None
