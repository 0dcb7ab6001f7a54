"""The list of hosts: each with its state in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

IN_SYNC, CHANGES, OUTSIDE, UNREADABLE, NOT_FOUND = (
    "in sync",
    "changes",
    "changed outside",
    "not readable",
    "not found",
)
HOST_ROLE = int(Qt.ItemDataRole.UserRole) + 10
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
MODE_NAMES = {
    "as-is": "As is",
    "native": "Native",
    "pruned": "Pruned",
    "through": "Through Toolcrib",
}


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host as the list shows it."""

    host: str  # id
    name: str
    state: str
    mode: str = ""  # as it was last written, "" when never
    changes: int = 0
    problem: str = ""

    @property
    def state_text(self) -> str:
        """The second line: how it gets its tools, and whether its file is up to date."""
        if self.state == NOT_FOUND:
            return "Not found"
        if self.state == UNREADABLE:
            return "File not readable"
        if self.state == OUTSIDE:
            return "Changed outside Toolcrib"
        if self.state == CHANGES:
            return f"{self.changes} {'change' if self.changes == 1 else 'changes'} to export"
        return f"{MODE_NAMES[self.mode or 'as-is']} · in sync"


class HostListModel(QAbstractListModel):
    """Hosts that are here first, those not found last."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HostRow] = []

    def show(self, rows: Sequence[HostRow]) -> None:
        """Replace the rows; the same hosts keep their places and the selection."""
        ordered = sorted(rows, key=lambda row: row.state == NOT_FOUND)
        same = [row.host for row in ordered] == [row.host for row in self._rows]
        if not same:
            self.beginResetModel()
        self._rows = ordered
        if not same:
            self.endResetModel()
        elif ordered:
            self.dataChanged.emit(self.index(0), self.index(len(ordered) - 1))

    @property
    def rows(self) -> Sequence[HostRow]:
        """What is shown."""
        return tuple(self._rows)

    def row_of(self, host: str) -> int:
        """The row of a host, -1 when it is not there."""
        return next((n for n, row in enumerate(self._rows) if row.host == host), -1)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """One row a host."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The host's name and state."""
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{row.name}\n{row.state_text}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.name}: {row.state_text}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.problem or row.state_text
        return row if role == HOST_ROLE else None
