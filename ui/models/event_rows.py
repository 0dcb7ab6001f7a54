"""The journal as a table: newest first, repeats collapsed, only failures marked."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from store.records import EventRecord
from ui.models.filter_query import Facts
from ui.models.roles import BADGE, BadgeText

COLUMNS = ("Time", "Host", "Event", "Tool / query", "Tokens ≈", "ms", "Result")
WHEN, HOST, EVENT, WHAT, TOKENS, MS, RESULT = range(len(COLUMNS))
MOST = 10_000  # rows kept
_NAMES = {
    "list": "List",
    "search": "Search",
    "call": "Call",
    "miss": "Miss",
    "evicted": "Evicted",
    "load": "Loaded",
    "held": "Held back",
    "error": "Error",
}
FAILED = "failed"
STATES = (*_NAMES, FAILED)  # what is: knows in a filter
_RIGHT = (TOKENS, MS)
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Row:
    """An event, how often it came in a row, and what a filter looks at."""

    event: EventRecord
    times: int
    facts: Facts

    @property
    def what(self) -> str:
        """The tool, or the query in quotes."""
        event = self.event
        text = event.tool or (f"“{event.query}”" if event.query else "")
        return f"{text} x{self.times}" if self.times > 1 else text


def make_row(event: EventRecord, times: int = 1) -> Row:
    """The row of an event."""
    server, _slash, tool = event.tool.partition("/")
    words = " ".join((_name(event), event.host, event.tool, event.query, event.problem)).lower()
    failed = event.kind != "miss" and event.problem
    facts = Facts(
        server.lower(),
        tool.lower(),
        words,
        hosts=event.host.lower(),
        tokens=event.tokens,
        states=frozenset({event.kind, FAILED} if failed else {event.kind}),
    )
    return Row(event, times, facts)


class EventTable(QAbstractTableModel):
    """A bounded list of rows; new events come in batches on top."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self.newest = 0  # id of the newest event seen

    def add(self, newest_first: Sequence[EventRecord]) -> None:
        """Put events on top; a repeat of the top row only counts up."""
        for event in reversed(newest_first):
            self.newest = max(self.newest, event.id)
            top = self._rows[0] if self._rows else None
            if top and _same(top.event, event):
                self._rows[0] = make_row(event, top.times + 1)
                self.dataChanged.emit(self.index(0, 0), self.index(0, RESULT))
                continue
            self.beginInsertRows(_ROOT, 0, 0)
            self._rows.insert(0, make_row(event))
            self.endInsertRows()
        self._forget_oldest()

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, newest first."""
        return self._rows

    def row(self, number: int) -> Row | None:
        """The row of that number."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def clear(self) -> None:
        """Empty the view; the journal itself stays."""
        self.beginResetModel()
        self._rows = []
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """One row a run of like events."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """The columns of COLUMNS."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        """The columns' names, aligned like their cells."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = 0) -> Any:
        """Text, badge and tooltip of a cell."""
        row = self.row(index.row())
        if row is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return _text(row, index.column())
        if role == BADGE and index.column() == EVENT:
            return _badge(row.event)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.event.problem or None
        return self._alignment(index.column()) if role == _ALIGN else None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if column in _RIGHT else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def _forget_oldest(self) -> None:
        if len(self._rows) > MOST:
            self.beginRemoveRows(_ROOT, MOST, len(self._rows) - 1)
            del self._rows[MOST:]
            self.endRemoveRows()


_ALIGN = Qt.ItemDataRole.TextAlignmentRole


def _same(one: EventRecord, other: EventRecord) -> bool:
    keys = ("kind", "host", "session", "tool", "query", "problem")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def _text(row: Row, column: int) -> str:
    event = row.event
    texts = {
        WHEN: _moment(event.at),
        HOST: event.host or "unknown",
        EVENT: _name(event),
        WHAT: row.what,
        TOKENS: f"{event.tokens:,}" if event.tokens else "",
        MS: f"{event.ms:.0f}" if event.ms else "",
        RESULT: event.problem,
    }
    return texts[column]


def _moment(at: float) -> str:
    """The time of today, the day and the time of before."""
    then, today = time.localtime(at), time.localtime()
    if then[:3] == today[:3]:
        return time.strftime("%H:%M:%S", then)
    return f"{then.tm_mday} {time.strftime('%b %H:%M', then)}"


def _badge(event: EventRecord) -> BadgeText | None:
    """Failures only: most events went well, and a tick on each would say nothing."""
    if event.kind == "miss":
        return BadgeText(_name(event), "warn", "alert")
    return BadgeText(_name(event), "block", "close-octagon") if event.problem else None


def _name(event: EventRecord) -> str:
    return _NAMES.get(event.kind, event.kind.title())
