"""Proposals to free tokens, with a tick each."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.catalog import CatalogTool
from app.policy.pruner import Move
from ui.models.row_table import Index, RowTable

COLUMNS = ("What could go", "Frees ≈")
TITLE, FREES = range(len(COLUMNS))
_TICKED = Qt.CheckState.Checked


class MoveTable(RowTable):
    """One row a move; the first column is ticked by the user."""

    columns = COLUMNS
    numbers = (FREES,)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ticked: list[bool] = []

    def show(self, moves: Sequence[Move]) -> None:
        """Show these; those needed for the budget are ticked, and what the user ticked stays so."""
        known = {m.tool_ids: (m.chosen, t) for m, t in zip(self._rows, self._ticked, strict=True)}
        self.beginResetModel()
        self._rows = list(moves)
        self._ticked = []
        for move in moves:
            chosen, ticked = known.get(move.tool_ids, (None, False))
            self._ticked.append(ticked if chosen == move.chosen else move.chosen)
        self.endResetModel()

    @property
    def tools(self) -> list[CatalogTool]:
        """The tools of the ticked moves."""
        both = zip(self._rows, self._ticked, strict=True)
        return [tool for move, ticked in both if ticked for tool in move.tools]

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows can be ticked."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        ticked = flags | Qt.ItemFlag.ItemIsUserCheckable
        return ticked if index.column() == TITLE else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, tick and evidence."""
        if not 0 <= index.row() < len(self._rows):
            return None
        move: Move = self._rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return move.title if index.column() == TITLE else f"{move.saves:,}"
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == TITLE:
            return _TICKED if self._ticked[index.row()] else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{move.evidence} {_named(move)}"
        return self.side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick a move."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != TITLE:
            return False
        self._ticked[index.row()] = Qt.CheckState(value) == _TICKED
        self.dataChanged.emit(index, index, [role])
        return True


def _named(move: Move) -> str:
    names = [tool.tool.tool_id for tool in move.tools[:12]]
    more = len(move.tools) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
