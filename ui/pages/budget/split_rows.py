"""Profiles that a profile would be split into, and who gets which, as tables."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt

from app.host_status.splitting import Assignment
from app.policy.clusters import NewProfile
from app.policy.sessions import Owner
from ui.look.text import count
from ui.widgets.columns import Column
from ui.widgets.roles import FAINT
from ui.widgets.row_table import Index, RowTable

PROFILE, TOOLS, TOKENS, WITHOUT = "Profile", "Tools", "Tokens ≈", "Without"
WHO, GETS, KEEPS = "Host or project", "Gets", "Calls kept"
_TICK = Qt.ItemDataRole.CheckStateRole
_TICKED = Qt.CheckState.Checked


class SplitTable(RowTable[NewProfile]):
    """One row a profile to be made."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(PROFILE, lambda one: one.name),
                Column(TOOLS, lambda one: count(len(one.tools)), width=70, right=True),
                Column(TOKENS, lambda one: count(one.tokens), width=84, right=True),
                Column(
                    WITHOUT, lambda one: f"{count(one.lost_tools)} tools", width=100, right=True
                ),
            ),
            parent,
        )

    def row_data(self, row: NewProfile, role: int) -> object:
        """Its servers and what it lacks as a tooltip."""
        if role != Qt.ItemDataRole.ToolTipRole:
            return None
        return f"{', '.join(row.servers)}. {row.loss}"


class AssignmentTable(RowTable[Assignment]):
    """One row a host or project; ticked ones get their profile, none is at first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(WHO, lambda one: one.title),
                Column(GETS, lambda one: one.profile, width=190),
                Column(KEEPS, _keeps, width=110, right=True),
            ),
            parent,
        )
        self._ticked: set[Owner] = set()

    def show(self, assignments: Sequence[Assignment]) -> None:
        """Show these, none of them ticked."""
        self._ticked = set()
        self.replace_rows(assignments)

    @property
    def owners(self) -> list[Owner]:
        """The owners that are ticked."""
        return [one.owner for one in self._rows if one.owner in self._ticked]

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows that are possible can be ticked."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        tickable = index.column() == self.place(WHO) and not self._rows[index.row()].refusal
        return flags | Qt.ItemFlag.ItemIsUserCheckable if tickable else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text and tick."""
        if role == _TICK and self.flags(index) & Qt.ItemFlag.ItemIsUserCheckable:
            ticked = self._rows[index.row()].owner in self._ticked
            return _TICKED if ticked else Qt.CheckState.Unchecked
        return super().data(index, role)

    def row_data(self, row: Assignment, role: int) -> object:
        """Faint with the reason where it cannot get one."""
        if role == FAINT:
            return bool(row.refusal)
        return row.refusal or None if role == Qt.ItemDataRole.ToolTipRole else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick."""
        if role != _TICK or not self.flags(index) & Qt.ItemFlag.ItemIsUserCheckable:
            return False
        owner = self._rows[index.row()].owner
        if Qt.CheckState(value) == _TICKED:
            self._ticked.add(owner)
        else:
            self._ticked.discard(owner)
        self.dataChanged.emit(index, index, [role])
        return True


def _keeps(one: Assignment) -> str:
    return f"{count(one.kept)} of {count(one.calls)}"
