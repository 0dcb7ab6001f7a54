"""Proposals to free tokens, with a tick each."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt

from app.catalog.catalog import CatalogTool
from app.policy.pruner import Move
from ui.widgets.columns import Column
from ui.widgets.row_table import Index, RowTable

TITLE, FREES = "What could go", "Frees ≈"
_TICKED = Qt.CheckState.Checked
_TICK = Qt.ItemDataRole.CheckStateRole


class MoveTable(RowTable[Move]):
    """One row a move; the first column is ticked by the user."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(TITLE, lambda move: move.title),
                Column(
                    FREES, lambda move: f"{move.saves:,}", lambda m: m.saves, width=84, right=True
                ),
            ),
            parent,
        )
        self._ticked: list[bool] = []

    def show(self, moves: Sequence[Move]) -> None:
        """Show these; those needed for the budget are ticked, and what the user ticked stays so."""
        both = zip(self._rows, self._ticked, strict=True)
        before = {move.tool_ids: (move.chosen, ticked) for move, ticked in both}
        states = []
        for move in moves:
            chosen, ticked = before.get(move.tool_ids, (None, False))
            states.append(ticked if chosen == move.chosen else move.chosen)
        self._ticked = states
        self.replace_rows(moves)

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
        return flags | Qt.ItemFlag.ItemIsUserCheckable if self._is_title(index) else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text, tick and evidence."""
        if role == _TICK and index.isValid() and self._is_title(index):
            return _TICKED if self._ticked[index.row()] else Qt.CheckState.Unchecked
        return super().data(index, role)

    def row_data(self, row: Move, role: int) -> object:
        """Evidence for the move, and its tools, as a tooltip."""
        is_tip = role == Qt.ItemDataRole.ToolTipRole
        return f"{row.evidence} {_named(row)}" if is_tip else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick a move."""
        if role != _TICK or not self._is_title(index):
            return False
        self._ticked[index.row()] = Qt.CheckState(value) == _TICKED
        self.dataChanged.emit(index, index, [role])
        return True

    def _is_title(self, index: Index) -> bool:
        return index.column() == self.place(TITLE)


def _named(move: Move) -> str:
    names = [tool.tool.tool_id for tool in move.tools[:12]]
    more = len(move.tools) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
