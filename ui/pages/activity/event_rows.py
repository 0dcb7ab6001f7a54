"""The journal as a table: newest first, repeats collapsed, only failures marked."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, Qt

from app.hooks.usage import SUGGEST
from store.records import EventRecord
from ui.look.text import moment
from ui.shell.badges import badge
from ui.widgets.columns import Column
from ui.widgets.delegates import BadgeDelegate
from ui.widgets.filter_query import Facts
from ui.widgets.roles import BADGE, BadgeText
from ui.widgets.row_table import RowTable

WHEN, HOST, EVENT, WHAT = "Time", "Host", "Event", "Tool / query"
TOKENS, MS, RESULT = "Tokens ≈", "ms", "Result"
_EXPECTED = (
    "miss",
    "evicted",
    "held",
    "data_out",
    "labelled",
)  # they say why, and nothing went wrong
MOST = 10_000  # rows kept
_NAMES = {
    "list": "List",
    "search": "Search",
    SUGGEST: "Suggested",
    "call": "Call",
    "miss": "Miss",
    "evicted": "Evicted",
    "load": "Loaded",
    "held": "Held back",
    "data_out": "Data out",
    "labelled": "Labelled",
    "error": "Error",
}
FAILED = "failed"
WARNED = ("miss", "data_out", "labelled")
STATES = (*_NAMES, FAILED)  # what is: knows in a filter
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Row:
    """An event, how often it came in a row, and what a filter looks at."""

    event: EventRecord
    times: int
    facts: Facts
    first: float  # when the first of them came

    @property
    def what(self) -> str:
        """The tool, or the query in quotes."""
        event = self.event
        shown = event.kind == SUGGEST and not event.detail.get("silence")  # a list counts its tools
        suggested = ", ".join(event.detail.get("tools", ())) if shown else ""
        text = event.tool or suggested or (f"“{event.query}”" if event.query else "")
        return f"{text} x{self.times}" if self.times > 1 else text


def make_row(event: EventRecord, times: int = 1, first: float = 0.0) -> Row:
    """The row of an event, of the newest where it came several times."""
    server, _slash, tool = event.tool.partition("/")
    words = " ".join((_name(event), _host(event), event.tool, event.query, event.problem)).lower()
    failed = event.kind not in _EXPECTED and event.problem
    facts = Facts(
        server.lower(),
        tool.lower(),
        words,
        hosts=_host(event).lower(),
        tokens=event.tokens,
        states=frozenset({event.kind, FAILED} if failed else {event.kind}),
    )
    return Row(event, times, facts, first or event.at)


class EventTable(RowTable[Row]):
    """A bounded list of rows; new events come in batches on top."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self.newest = 0  # id of the newest event seen

    def add(self, newest_first: Sequence[EventRecord]) -> None:
        """Put events on top, at once; a repeat of the top row only counts up."""
        top, new = self.row(0), list[Row]()
        for event in reversed(newest_first):
            self.newest = max(self.newest, event.id)
            before = new[-1] if new else top
            if before is None or not _same(before.event, event):
                new.append(make_row(event))
                continue
            row = make_row(event, before.times + 1, before.first)
            if new:
                new[-1] = row
            else:
                top = row
        if top is not None and top is not self._rows[0]:
            self._rows[0] = top
            self.rows_changed(0, 0)
        if new:
            self.beginInsertRows(_ROOT, 0, len(new) - 1)
            self._rows[:0] = reversed(new)
            self.endInsertRows()
        self._forget_oldest()

    def clear(self) -> None:
        """Empty the view; the journal itself stays."""
        self.replace_rows(())

    def row_data(self, row: Row, role: int) -> object:
        """The event's problem as a tooltip."""
        return row.event.problem or None if role == Qt.ItemDataRole.ToolTipRole else None

    def _forget_oldest(self) -> None:
        if len(self._rows) > MOST:
            self.beginRemoveRows(_ROOT, MOST, len(self._rows) - 1)
            del self._rows[MOST:]
            self.endRemoveRows()


def _same(one: EventRecord, other: EventRecord) -> bool:
    keys = ("kind", "host", "session", "tool", "query", "problem")
    if one.kind == SUGGEST and one.detail != other.detail:
        return False
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def _badge(row: Row) -> BadgeText | None:
    """Failures only: most events went well, and a tick on each would say nothing."""
    if row.event.kind in WARNED:
        return badge(row.event.kind)
    return badge(FAILED, _name(row.event)) if row.event.problem else None


def _host(event: EventRecord) -> str:
    return event.host or str(event.detail.get("hook", ""))


def _name(event: EventRecord) -> str:
    if event.kind == SUGGEST and event.detail.get("silence"):
        return "No suggestion"
    return _NAMES.get(event.kind, event.kind.title())


COLUMNS: tuple[Column[Row], ...] = (
    Column(WHEN, lambda row: moment(row.event.at), lambda row: row.event.at, width=104),
    Column(HOST, lambda row: _host(row.event) or "unknown", width=130),
    Column(
        EVENT,
        lambda row: _name(row.event),
        delegate=BadgeDelegate,
        width=90,
        roles={BADGE: _badge},
    ),
    Column(WHAT, lambda row: row.what),
    Column(
        TOKENS,
        lambda row: f"{row.event.tokens:,}" if row.event.tokens else "",
        lambda row: row.event.tokens,
        width=84,
        right=True,
    ),
    Column(
        MS,
        lambda row: f"{row.event.ms:.0f}" if row.event.ms else "",
        lambda row: row.event.ms,
        width=64,
        right=True,
    ),
    Column(RESULT, lambda row: row.event.problem),
)
