"""A table of rows under columns."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from ui.widgets.columns import Column, cell_value, head_data, place, side
from ui.widgets.guarded import Guarded
from ui.widgets.roles import SORT

R = TypeVar("R")
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_ROLE = Qt.ItemDataRole
_PLAIN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


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
        if role == SORT:
            return column.sort_key(row)
        return cell_value(self.row_data(row, role), role)

    def row_data(self, _row: R, _role: int) -> object:
        """Content that all cells of a row have in common in a role, such as FAINT."""
        return None


class TickTable(RowTable[R]):
    """Rows with a check box in the first column; subclasses keep the ticks."""

    locked = False  # True: ticks are shown and cannot be changed

    def is_ticked(self, number: int) -> bool | None:
        """True if the row of that number is ticked, None where it has no box."""
        raise NotImplementedError

    def tick(self, number: int, on: bool) -> None:
        """Keep the tick of the row of that number."""
        raise NotImplementedError

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Boxes can be ticked unless the table is locked."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        has_box = not index.column() and self.is_ticked(index.row()) is not None
        return _PLAIN | Qt.ItemFlag.ItemIsUserCheckable if has_box and not self.locked else _PLAIN

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> object:
        """The box, or what the column says."""
        if role != _ROLE.CheckStateRole:
            return super().data(index, role)
        ticked = self.is_ticked(index.row()) if index.isValid() and not index.column() else None
        if ticked is None:
            return None
        return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked

    def setData(self, index: Index, value: object, role: int = _ROLE.EditRole) -> bool:
        """Tick or untick."""
        if role != _ROLE.CheckStateRole or not self.flags(index) & Qt.ItemFlag.ItemIsUserCheckable:
            return False
        self.tick(index.row(), Qt.CheckState(value) == Qt.CheckState.Checked)
        self.rows_changed(index.row(), index.row())
        return True
