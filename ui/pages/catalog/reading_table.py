"""The consent table: what would be started, then how each reading goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Qt, Signal

from app.core.text import plural
from store import records
from ui.look.text import count, visible
from ui.pages.catalog.server_work import Candidate
from ui.shell.badges import badge
from ui.widgets.columns import Column, MakeDelegate, Roles
from ui.widgets.delegates import BadgeDelegate
from ui.widgets.roles import BADGE, FAINT, BadgeText
from ui.widgets.row_table import TickTable

SERVER, FOUND_IN, STARTS = "Server", "Found in", "Starts"
STATUS, TOOLS, TOKENS = "Status", "Tools", "Tokens ≈"
_LONGEST = 2_000  # characters of a command in a cell
_ROLE = Qt.ItemDataRole
_ENDED = (
    records.READ,
    records.NEEDS_SIGN_IN,
    records.COULD_NOT_START,
    records.TOOK_TOO_LONG,
    records.STOPPED,
)


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
        """True if this reading is over."""
        return self.status in _ENDED

    def badge(self, now: float) -> BadgeText:
        """The status in words."""
        if self.status == records.READING:
            return badge(self.status, f"Reading {max(0, int(now - self.since))} s")
        if self.status == records.READ and self.tools is not None:
            return badge(self.status, f"Read {plural(self.tools, 'tool')}")
        if self.status:
            return badge(self.status)
        if not self.candidate.command:
            return badge("cannot be started")
        return badge("ticked" if self.ticked else "not ticked")


class ReadingTable(TickTable[ReadingRow]):
    """Servers with a tick each while nothing runs.

    Signals: ticked() when a tick changed.
    """

    ticked = Signal()

    def __init__(self, host_names: Mapping[str, str], parent: QObject | None = None) -> None:
        super().__init__(self._make_columns(), parent)
        self._names = host_names
        self._now = 0.0

    @property
    def chosen(self) -> tuple[int, ...]:
        """Ids of the ticked servers."""
        return tuple(row.candidate.server_id for row in self._rows if row.ticked)

    def show(self, candidates: tuple[Candidate, ...], only: frozenset[int] | None = None) -> None:
        """Show servers; those of `only` are ticked, where given, if they can be started."""
        self.locked = False
        wanted = {c.server_id for c in candidates if c.ticked} if only is None else only
        self.replace_rows(
            [
                ReadingRow(c, bool(c.command) and c.server_id in wanted, problem=c.problem)
                for c in candidates
            ]
        )

    def begin(self) -> None:
        """The ticked servers wait to be read; nothing can be ticked until unlock()."""
        self.locked = True
        self._rows = [
            replace(r, status=records.WAITING, problem="", tools=None)
            if r.ticked
            else r
            if r.status == records.READ  # before a stop
            else replace(r, status="", problem="", tools=None)
            for r in self._rows
        ]
        self.rows_changed()

    def tick_only(self, server_ids: frozenset[int]) -> None:
        """Tick these and no others."""
        self._rows = [replace(r, ticked=r.candidate.server_id in server_ids) for r in self._rows]
        self.rows_changed()
        self.ticked.emit()

    def unlock(self) -> None:
        """Let servers be ticked again."""
        self.locked = False
        self.rows_changed()

    def set_status(
        self, server_id: int, status: str, *, problem: str, tools: int, now: float
    ) -> None:
        """Set the progress of one server."""
        for number, row in enumerate(self._rows):
            if row.candidate.server_id == server_id:
                since = now if status == records.READING else row.since
                count_read = tools if status == records.READ else None
                self._rows[number] = replace(
                    row, status=status, problem=problem, tools=count_read, since=since
                )
                self.rows_changed(number, number)

    def set_tokens(self, tokens: Mapping[int, int]) -> None:
        """Tokens of the servers that were counted."""
        self._rows = [
            replace(row, tokens=tokens[row.candidate.server_id])
            if row.status == records.READ and row.candidate.server_id in tokens
            else row
            for row in self._rows
        ]
        self.rows_changed()

    def show_time(self, now: float) -> None:
        """Let the seconds of the rows in work run on."""
        self._now = now
        for number, row in enumerate(self._rows):
            if row.status == records.READING:
                self.rows_changed(number, number)

    def is_ticked(self, number: int) -> bool | None:
        """True if the server is to be read; None where it cannot be started."""
        row = self._rows[number]
        return row.ticked if row.candidate.command else None

    def tick(self, number: int, on: bool) -> None:
        """Have a server read, or not."""
        self._rows[number] = replace(self._rows[number], ticked=on)
        self.ticked.emit()

    def row_data(self, row: ReadingRow, role: int) -> object:
        """Rows that are not read are faint."""
        return not row.ticked and not row.status if role == FAINT else None

    def _make_columns(self) -> tuple[Column[ReadingRow], ...]:
        return (
            _column(SERVER, lambda row: row.candidate.name, width=180),
            _column(FOUND_IN, self._hosts, width=190),
            _column(STARTS, _starts),
            _column(
                STATUS,
                self._status,
                width=150,
                delegate=BadgeDelegate,
                roles={
                    BADGE: lambda row: row.badge(self._now),
                    _ROLE.AccessibleTextRole: lambda row: (
                        f"{self._status(row)}: {row.problem}" if row.problem else self._status(row)
                    ),
                },
            ),
            _column(TOOLS, lambda row: _number(row.tools), width=60, right=True),
            _column(TOKENS, lambda row: _number(row.tokens), width=90, right=True),
        )

    def _status(self, row: ReadingRow) -> str:
        return row.badge(self._now).word

    def _hosts(self, row: ReadingRow) -> str:
        hosts = ", ".join(self._names.get(host, host) for host in row.candidate.hosts)
        return f"{hosts} (project: tick if you trust it)" if row.candidate.from_project else hosts


def _column(
    title: str,
    text: Callable[[ReadingRow], str],
    *,
    width: int = 0,
    right: bool = False,
    delegate: MakeDelegate | None = None,
    roles: Roles[ReadingRow] | None = None,
) -> Column[ReadingRow]:
    """A column whose tooltip is what went wrong, else the whole text."""
    tip: Roles[ReadingRow] = {_ROLE.ToolTipRole: lambda row: row.problem or text(row)}
    return Column(
        title, text, delegate=delegate, width=width, right=right, roles={**tip, **(roles or {})}
    )


def _starts(row: ReadingRow) -> str:
    """Command or problem of a row, cut for a cell; the pane below the table has the whole of it."""
    text = row.candidate.command or visible(row.candidate.problem)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({count(len(text))} characters)"


def _number(value: int | None) -> str:
    return "" if value is None else count(value)
