"""The labelled queries as a table: does each find its tools, and which are missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTreeView

from app.hooks.record_labels import RECORD
from app.hosts.facts import host
from app.ranking.learning.cases import Outcome
from app.ranking.tool_search import ENGINE, MOST
from store.records import LabelRecord, RunRecord
from ui.look.theme import Theme
from ui.shell.badges import BADGES
from ui.widgets.columns import Column, MakeDelegate, Roles, place
from ui.widgets.delegates import BadgeDelegate, LeanDelegate
from ui.widgets.roles import BADGE, FAINT
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_rows
from ui.widgets.table_tools import tools_of

VERDICT, QUERY, EXPECTED, FOUND = "Verdict", "Query", "Expected tools", "Found"
RANK, TOKENS, SOURCE = "Worst rank", "Tokens ≈", "From"
ALONE = "Claude Code"
_ALONE = {None: "", True: "finds it", False: "misses it"}
PASSED, FAILING = "Passed", "Failing"
FIXED, REGRESSED, STILL, NEW = "Fixed", "Regressed", "Still failing", "New"
NOT_RUN, NOT_HERE = "Not run", "Not here"
_SOURCES = {"typed": "typed", "imported": "file", "activity": "activity"}
_ROLE = Qt.ItemDataRole


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A label, what its query gets, and what that is called."""

    label: LabelRecord
    outcome: Outcome | None
    verdict: str
    alone: bool | None = None  # whether the host's own search finds one of its tools

    @property
    def result(self) -> str:
        """`1 of 2, lacks slack/post_message`."""
        if self.outcome is None:
            return ""
        if not self.label.expected:
            number = len(self.outcome.active)
            return "nothing, as expected" if not number else f"{number} in, expected none"
        lacking = [tool for tool in self.label.expected if tool in self.outcome.missing]
        got = f"{len(self.label.expected) - len(lacking)} of {len(self.label.expected)}"
        some = lacking and len(self.label.expected) > 1  # a single one is shown beside it
        return f"{got}, lacks {', '.join(lacking)}" if some else got


def rows_of(
    labels: Sequence[LabelRecord],
    outcomes: Mapping[str, Outcome],
    *,
    before: RunRecord | None,
    unknown: frozenset[str] = frozenset(),
    alone: Mapping[str, bool] | None = None,
) -> list[QueryRow]:
    """Rows with verdicts; `unknown` are queries none of whose tools this catalogue has.

    `alone` is what a host's own search finds, by query.
    """
    passed: Mapping[str, bool] = before.result.get("passed", {}) if before else {}
    rows = []
    for label in labels:
        query = label.query.strip()
        outcome = outcomes.get(query)
        if outcome is not None:
            verdict = verdict_of(outcome.passed, passed.get(query))
        else:
            verdict = NOT_HERE if query in unknown else NOT_RUN
        rows.append(QueryRow(label, outcome, verdict, (alone or {}).get(query)))
    return rows


def verdict_of(passed: bool, before: bool | None) -> str:
    """The word for a query that passes or not, against the run before."""
    if before is None:
        return PASSED if passed else FAILING
    if passed:
        return PASSED if before else FIXED
    return REGRESSED if before else STILL


def outcome_of_run(run: RunRecord, label: LabelRecord, costs: Mapping[str, int]) -> Outcome | None:
    """Outcome of a stored run for a label's query, None when the run did not ask it."""
    query = label.query.strip()
    got = run.result.get("got", {}).get(query)
    if got is None or query not in run.result.get("passed", {}):
        return None
    active, missing = tuple(got["in"]), tuple(got["missing"])
    hits = tuple(tool for tool in active if tool in label.expected)
    cost = sum(costs.get(tool, 0) for tool in active)
    return Outcome(query, hits, missing, active, (), cost, run.result["passed"][query])


class QueryTable(RowTable[QueryRow]):
    """One row a label, in the order they were made."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)

    def show(self, rows: Sequence[QueryRow]) -> None:
        """Show these rows; when the labels are the same, the rows stay where they are."""
        if [r.label for r in rows] == [r.label for r in self._rows]:
            self._rows = list(rows)
            self.rows_changed()
        else:
            self.replace_rows(rows)


def _column(
    title: str,
    text: Callable[[QueryRow], str],
    sort: Callable[[QueryRow], int] | None = None,
    *,
    width: int = 0,
    tip: str = "",
    delegate: MakeDelegate | None = None,
    more: Roles[QueryRow] | None = None,
) -> Column[QueryRow]:
    """A column whose cells can be read whole in a tooltip and name it for screen readers."""
    roles: Roles[QueryRow] = {
        _ROLE.ToolTipRole: text,
        _ROLE.AccessibleTextRole: lambda row: f"{title}: {text(row) or 'nothing'}",
        **(more or {}),
    }
    right = sort is not None
    return Column(title, text, sort, roles, delegate=delegate, width=width, tip=tip, right=right)


def _source(source: str) -> str:
    """Origin of a label: a word, or the host whose record it is from."""
    if source.startswith(RECORD):
        return host(source.removeprefix(RECORD)).name
    return _SOURCES.get(source, source)


def _rank(row: QueryRow) -> int:
    return row.outcome.worst or 0 if row.outcome else 0


def _tokens(row: QueryRow) -> int:
    return row.outcome.tokens if row.outcome else 0


COLUMNS = (
    _column(
        VERDICT,
        lambda row: row.verdict,
        width=116,
        tip="Passed: every expected tool is in. Compared with the run before, where there is one.",
        delegate=BadgeDelegate,
        more={
            BADGE: lambda row: BADGES.get(row.verdict),
            FAINT: lambda row: row.outcome is None,
        },
    ),
    _column(QUERY, lambda row: row.label.query),
    _column(EXPECTED, lambda row: ", ".join(row.label.expected) or "no tool", width=220),
    _column(
        FOUND,
        lambda row: row.result,
        width=190,
        tip="How many of the expected tools are in, and which are not.",
    ),
    _column(
        RANK,
        lambda row: str(_rank(row) or ""),
        _rank,
        width=84,
        tip="The place of the last expected tool among all tools.",
    ),
    _column(
        TOKENS,
        lambda row: f"{_tokens(row):,}" if row.outcome else "",
        _tokens,
        width=78,
        tip="Size of all tools that the query brings.",
    ),
    _column(
        ALONE,
        lambda row: _ALONE[row.alone],
        width=100,
        tip=f"Yes if {ENGINE} finds an expected tool without Toolcrib, in its first {MOST}.",
    ),
    _column(
        SOURCE,
        lambda row: _source(row.label.source),
        width=70,
        tip="Typed here, imported from a file, or taken from activity or a host's records.",
        more={FAINT: lambda _row: True},
    ),
)


_LEAST, _SHARING = (
    tuple(place(COLUMNS, t) for t in (RANK, ALONE, SOURCE)),
    tuple(place(COLUMNS, t) for t in (EXPECTED, FOUND)),
)
_NARROW = 900  # px; below it the last columns are left out
_QUERY = 180  # px that a query needs at least


class QueryView(QTreeView):
    """Rows of labelled queries.

    Signals: edit_requested(), delete_requested(), try_requested() for the selected rows.
    """

    edit_requested = Signal()
    delete_requested = Signal()
    try_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._scaled = theme.scaled
        self.table = QueryTable(self)
        self.setObjectName("querySet")
        self.setAccessibleName("Labelled queries")
        self.setModel(self.table)
        as_rows(self, theme, COLUMNS, delegate=LeanDelegate)
        self.header().setMinimumSectionSize(36)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        self.doubleClicked.connect(lambda _index: self.edit_requested.emit())

    @property
    def chosen(self) -> tuple[LabelRecord, ...]:
        """The labels of the selected rows."""
        rows = (self.table.row(index.row()) for index in self.selectionModel().selectedRows())
        return tuple(row.label for row in rows if row is not None)

    def show_rows(self, rows: Sequence[QueryRow]) -> None:
        """Show these rows; the current place is kept."""
        place = max(0, self.currentIndex().row())
        self.table.show(rows)
        if rows and not self.currentIndex().isValid():
            self.setCurrentIndex(self.table.index(min(place, len(rows) - 1), 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and F2 edit, Delete deletes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.edit_requested.emit()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_requested.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow tables do without the columns that matter least."""
        super().resizeEvent(event)
        scaled, width = self._scaled, self.viewport().width()
        for number in _LEAST:
            tools_of(self).hide(number, width < scaled(_NARROW))
        others = sum(
            column.width
            for number, column in enumerate(COLUMNS)
            if number not in _SHARING and not self.isColumnHidden(number)
        )
        room = width - scaled(_QUERY + others)
        share = min(1.0, room / scaled(sum(COLUMNS[number].width for number in _SHARING)))
        for number in _SHARING:
            self.setColumnWidth(number, max(90, int(scaled(COLUMNS[number].width) * share)))

    def _show_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Edit…", self.edit_requested.emit)
        menu.addAction("Delete", self.delete_requested.emit)
        menu.addAction("Try this query", self.try_requested.emit)
        menu.exec(self.viewport().mapToGlobal(where))
