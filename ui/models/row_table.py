"""What tables of rows under named columns have in common."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class RowTable(QAbstractTableModel):
    """Rows and their heads; a child says what the cells show."""

    columns: ClassVar[Sequence[str]] = ()
    tips: ClassVar[Mapping[int, str]] = {}  # of heads, by column
    numbers: ClassVar[Collection[int]] = ()  # columns that stand on the right

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Any] = []

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many rows are shown."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """How many columns there are."""
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """The column's name, its explanation and its side."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tips.get(section)
        return self.side(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def heading(self, section: int) -> str:
        """The column's name."""
        return self.columns[section]

    def side(self, column: int) -> Qt.AlignmentFlag:
        """Numbers on the right, everything else on the left."""
        right = column in self.numbers
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter
