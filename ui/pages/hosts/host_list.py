"""The list of hosts: each with its state in words."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.host_status.status import NOT_FOUND, HostStatus
from ui.look.text import plain_tip
from ui.shell.host_state import state_text
from ui.widgets.guarded import Guarded

HOST_ROLE = int(Qt.ItemDataRole.UserRole) + 10
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class HostListModel(Guarded, QAbstractListModel):
    """Hosts that are on this computer; those not found follow once they are unfolded."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HostStatus] = []
        self._unfolded = False

    def show(self, rows: Sequence[HostStatus]) -> None:
        """Replace the rows; the same hosts keep their places and the selection."""
        ordered = sorted(rows, key=lambda row: row.state == NOT_FOUND)
        same = _order(ordered) == _order(self._rows)
        if not same:
            self.beginResetModel()
        self._rows = ordered
        if not same:
            self.endResetModel()
        elif ordered:
            self.dataChanged.emit(self.index(0), self.index(self.rowCount() - 1))

    @property
    def rows(self) -> Sequence[HostStatus]:
        """Hosts in the list."""
        return tuple(self._rows)

    @property
    def missing(self) -> int:
        """Number of hosts that are not on this computer; 0 if all are missing and so shown."""
        missing = sum(row.state == NOT_FOUND for row in self._rows)
        return missing if missing < len(self._rows) else 0

    def unfold(self, on: bool) -> None:
        """Show the hosts that are not on this computer, too."""
        if on != self._unfolded:
            self.layoutAboutToBeChanged.emit()
            self._unfolded = on
            self.layoutChanged.emit()

    def row_of(self, host_id: str) -> int:
        """The row of a host, -1 when it is not there."""
        return next((n for n, row in enumerate(self._rows) if row.host.id == host_id), -1)

    def find(self, host_id: str) -> HostStatus | None:
        """The status of a host, None when it is not there."""
        row = self.row_of(host_id)
        return self._rows[row] if row >= 0 else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """One row a host that is shown."""
        folded = 0 if self._unfolded else self.missing
        return 0 if parent.isValid() else len(self._rows) - folded

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The host's name and state."""
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{row.host.name}\n{state_text(row)}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.host.name}: {state_text(row)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{row.host.name}\n{row.problem or state_text(row)}")
        return row if role == HOST_ROLE else None


def _order(rows: Sequence[HostStatus]) -> list[tuple[str, bool]]:
    """The hosts in their order, and which are here."""
    return [(row.host.id, row.state == NOT_FOUND) for row in rows]
