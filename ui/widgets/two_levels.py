"""A tree model of groups with rows below them."""

from collections.abc import Callable, Sequence
from typing import Generic

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt

from ui.widgets.columns import G, R, TreeColumn, head_data
from ui.widgets.guarded import Guarded

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
Key = tuple[object, int]  # of a group, of a row in it (0: the group, -1: its problem)


class TwoLevels(Guarded, QAbstractItemModel, Generic[G, R]):
    """An index keeps the number of its group plus one, 0 for a group.

    A model of its kind has `columns`, `rowCount` and `data`, and gives `_key` and `_places`.
    """

    columns: Sequence[TreeColumn[G, R]]

    def columnCount(self, _parent: Index = ROOT) -> int:
        """Number of columns."""
        return len(self.columns)

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        """The cell at that place."""
        if not (0 <= column < len(self.columns) and 0 <= row < self.rowCount(parent)):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: Index = ROOT) -> QModelIndex:  # type: ignore[override]
        """A row's group."""
        number = index.internalId() if index.isValid() else 0
        return self.createIndex(number - 1, 0, 0) if number else QModelIndex()

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """The columns' titles, what they mean and their sides."""
        return head_data(self.columns, section, orientation, role)

    def _rearrange(self, order: Callable[[], None]) -> None:
        """Let `order` filter and sort; persistent indexes (selected, open) follow their rows."""
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        keys = [self._key(index) for index in old]
        order()
        if old:
            places = self._places()
            moved = [self._moved(i, places.get(k)) for i, k in zip(old, keys, strict=True)]
            self.changePersistentIndexList(old, moved)
        self.layoutChanged.emit()

    def _moved(self, old: QModelIndex, place: tuple[int, int] | None) -> QModelIndex:
        return self.createIndex(place[0], old.column(), place[1]) if place else QModelIndex()

    def _key(self, index: Index) -> Key:
        """Key of a row, the same wherever it goes."""
        raise NotImplementedError

    def _places(self) -> dict[Key, tuple[int, int]]:
        """Row and internal id of every row, by its key."""
        raise NotImplementedError
