"""The consent table: what would be started, then how each reading goes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from store import records
from ui.finding import Candidate
from ui.models.roles import BADGE, FAINT, BadgeText
from ui.text import count, plural

SERVER, FOUND_IN, STARTS, STATUS, TOOLS, TOKENS = range(6)
TITLES = ("Server", "Found in", "Starts", "Status", "Tools", "Tokens ≈")

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_ENDED = (
    records.READ,
    records.NEEDS_SIGN_IN,
    records.COULD_NOT_START,
    records.TOOK_TOO_LONG,
    records.STOPPED,
)
_BADGES = {
    records.WAITING: BadgeText("Waiting", "neutral", "progress-clock"),
    records.READ: BadgeText("Read", "passed", "check-circle"),
    records.NEEDS_SIGN_IN: BadgeText("Needs sign-in", "warn", "key-outline"),
    records.COULD_NOT_START: BadgeText("Could not start", "block", "close-octagon", solid=True),
    records.TOOK_TOO_LONG: BadgeText("Took too long", "warn", "clock-outline"),
    records.STOPPED: BadgeText("Stopped", "neutral", "stop-circle-outline"),
}


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One server."""

    candidate: Candidate
    ticked: bool
    status: str = ""  # of this reading, "" before it
    problem: str = ""
    tools: int | None = None
    tokens: int | None = None
    since: float = 0.0  # when its reading began

    @property
    def ended(self) -> bool:
        """Whether this reading is over."""
        return self.status in _ENDED

    def badge(self, now: float) -> BadgeText:
        """The status in words."""
        if self.status == records.READING:
            return BadgeText(f"Reading {max(0, int(now - self.since))} s", "accent", "refresh")
        if self.status == records.READ and self.tools is not None:
            return BadgeText(f"Read {plural(self.tools, 'tool')}", "passed", "check-circle")
        if self.status:
            return _BADGES.get(self.status, BadgeText(self.status))
        if not self.candidate.command:
            return BadgeText("Cannot be started", "warn", "alert")
        if self.ticked:
            return BadgeText("Will be read", "neutral", "circle-outline")
        return BadgeText("Not ticked", "neutral", "minus-circle-outline")


class ReadingTable(QAbstractTableModel):
    """Servers with a tick each while nothing runs.

    Signals: ticked() when a tick changed.
    """

    ticked = Signal()

    def __init__(self, host_names: Mapping[str, str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = host_names
        self._rows: list[ReadingRow] = []
        self._locked = False
        self._now = 0.0

    @property
    def rows(self) -> tuple[ReadingRow, ...]:
        """All rows."""
        return tuple(self._rows)

    @property
    def chosen(self) -> tuple[int, ...]:
        """Ids of the ticked servers."""
        return tuple(row.candidate.server_id for row in self._rows if row.ticked)

    def show(self, candidates: tuple[Candidate, ...], only: frozenset[int] = frozenset()) -> None:
        """Show servers; `only` are the ones ticked, when given."""
        self.beginResetModel()
        self._locked = False
        self._rows = [
            ReadingRow(c, c.server_id in only if only else c.ticked, problem=c.problem)
            for c in candidates
        ]
        self.endResetModel()

    def begin(self) -> None:
        """The ticked servers wait to be read; nothing can be ticked until unlock()."""
        self._locked = True
        self._rows = [
            replace(r, status=records.WAITING if r.ticked else "", problem="", tools=None)
            for r in self._rows
        ]
        self._emit_all()

    def unlock(self) -> None:
        """Let servers be ticked again."""
        self._locked = False
        self._emit_all()

    def set_status(
        self, server_id: int, status: str, *, problem: str, tools: int, now: float
    ) -> None:
        """How far one server is."""
        for number, row in enumerate(self._rows):
            if row.candidate.server_id == server_id:
                since = now if status == records.READING else row.since
                known = tools if status == records.READ else None
                self._rows[number] = replace(
                    row, status=status, problem=problem, tools=known, since=since
                )
                self.dataChanged.emit(self.index(number, 0), self.index(number, TOKENS))

    def set_tokens(self, tokens: Mapping[int, int]) -> None:
        """Tokens of the servers that were counted."""
        self._rows = [
            replace(row, tokens=tokens[row.candidate.server_id])
            if row.status == records.READ and row.candidate.server_id in tokens
            else row
            for row in self._rows
        ]
        self._emit_all()

    def tell_time(self, now: float) -> None:
        """Let the seconds of the rows in work run on."""
        self._now = now
        for number, row in enumerate(self._rows):
            if row.status == records.READING:
                cell = self.index(number, STATUS)
                self.dataChanged.emit(cell, cell)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Servers."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Server, found in, starts, status, tools, tokens."""
        return 0 if parent.isValid() else len(TITLES)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The columns' titles."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            return _RIGHT if section in (TOOLS, TOKENS) else left
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Servers that can be started have a check box."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if self._can_tick(index):
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """What a cell shows."""
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.problem or self._text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in (TOOLS, TOKENS):
            return _RIGHT
        if role == BADGE and column == STATUS:
            return row.badge(self._now)
        if role == FAINT:
            return not row.ticked and not row.status
        if role == Qt.ItemDataRole.CheckStateRole and column == SERVER and row.candidate.command:
            return Qt.CheckState.Checked if row.ticked else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole and column == STATUS and row.problem:
            return f"{self._text(row, column)}: {row.problem}"
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick."""
        if role != Qt.ItemDataRole.CheckStateRole or not self._can_tick(index):
            return False
        on = Qt.CheckState(value) == Qt.CheckState.Checked
        self._rows[index.row()] = replace(self._rows[index.row()], ticked=on)
        row = index.row()
        self.dataChanged.emit(self.index(row, 0), self.index(row, TOKENS))
        self.ticked.emit()
        return True

    def _can_tick(self, index: Index) -> bool:
        if not index.isValid() or index.column() != SERVER or self._locked:
            return False
        return bool(self._rows[index.row()].candidate.command)

    def _text(self, row: ReadingRow, column: int) -> str:
        if column == SERVER:
            return row.candidate.name
        if column == FOUND_IN:
            hosts = ", ".join(self._names.get(host, host) for host in row.candidate.hosts)
            return f"{hosts} (project: tick if you trust it)" * row.candidate.from_project or hosts
        if column == STARTS:
            return row.candidate.command or row.candidate.problem
        if column == STATUS:
            return row.badge(self._now).word
        number = row.tools if column == TOOLS else row.tokens
        return "" if number is None else count(number)

    def _emit_all(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, TOKENS))
