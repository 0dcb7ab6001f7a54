"""The labelled queries as a table: does each find its tools, and which are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.routing.cases import Outcome
from store.records import LabelRecord, RunRecord
from ui.models.roles import BADGE, FAINT, BadgeText
from ui.models.row_table import Index, RowTable

COLUMNS = ("Verdict", "Query", "Expected tools", "Found", "Worst rank", "Tokens ≈", "From")
VERDICT, QUERY, EXPECTED, FOUND, RANK, TOKENS, SOURCE = range(len(COLUMNS))
TIPS = {
    VERDICT: "Passed: every expected tool is in. Compared with the run before, where there is one.",
    FOUND: "How many of the expected tools are in, and which are not.",
    RANK: "The place of the last expected tool among all tools.",
    TOKENS: "Size of all tools that the query brings.",
    SOURCE: "Typed here, imported from a file, or taken from activity.",
}
PASSED, FAILING = "Passed", "Failing"
FIXED, REGRESSED, STILL, NEW = "Fixed", "Regressed", "Still failing", "New"
NOT_RUN, NOT_HERE = "Not run", "Not here"
BADGES = {
    PASSED: BadgeText(PASSED, "passed", "check-circle"),
    FIXED: BadgeText(FIXED, "passed", "check-circle"),
    FAILING: BadgeText(FAILING, "warn", "alert"),
    STILL: BadgeText(STILL, "warn", "alert"),
    REGRESSED: BadgeText(REGRESSED, "block", "close-octagon", solid=True),
    NEW: BadgeText(NEW, "accent", "plus"),
}
_SOURCES = {"typed": "typed", "imported": "file", "activity": "activity"}
_ALIGN = Qt.ItemDataRole.TextAlignmentRole


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A label, what its query gets, and what that is called."""

    label: LabelRecord
    outcome: Outcome | None
    verdict: str

    @property
    def found(self) -> str:
        """`1 of 2, lacks slack/post_message`."""
        if self.outcome is None:
            return ""
        if not self.label.expected:
            number = len(self.outcome.active)
            return "nothing, as expected" if not number else f"{number} in, expected none"
        lacking = [tool for tool in self.label.expected if tool in self.outcome.missing]
        got = f"{len(self.label.expected) - len(lacking)} of {len(self.label.expected)}"
        some = lacking and len(self.label.expected) > 1  # a single one stands beside it
        return f"{got}, lacks {', '.join(lacking)}" if some else got


def rows_of(
    labels: Sequence[LabelRecord],
    outcomes: Mapping[str, Outcome],
    *,
    before: RunRecord | None,
    unknown: frozenset[str] = frozenset(),
) -> list[QueryRow]:
    """Rows with verdicts; `unknown` are queries none of whose tools this catalogue has."""
    passed: Mapping[str, bool] = before.result.get("passed", {}) if before else {}
    rows = []
    for label in labels:
        query = label.query.strip()
        outcome = outcomes.get(query)
        if outcome is not None:
            verdict = verdict_of(outcome.passed, passed.get(query))
        else:
            verdict = NOT_HERE if query in unknown else NOT_RUN
        rows.append(QueryRow(label, outcome, verdict))
    return rows


def verdict_of(passed: bool, before: bool | None) -> str:
    """The word for a query that passes or not, against the run before."""
    if before is None:
        return PASSED if passed else FAILING
    if passed:
        return PASSED if before else FIXED
    return REGRESSED if before else STILL


def outcome_of_run(run: RunRecord, label: LabelRecord, costs: Mapping[str, int]) -> Outcome | None:
    """What a stored run says of a label's query, None when it did not ask it."""
    query = label.query.strip()
    got = run.result.get("got", {}).get(query)
    if got is None or query not in run.result.get("passed", {}):
        return None
    active, missing = tuple(got["in"]), tuple(got["missing"])
    found = tuple(tool for tool in active if tool in label.expected)
    cost = sum(costs.get(tool, 0) for tool in active)
    return Outcome(query, found, missing, active, (), cost, run.result["passed"][query])


class QueryTable(RowTable):
    """One row a label, in the order they were made."""

    columns, tips, numbers = COLUMNS, TIPS, (RANK, TOKENS)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[QueryRow] = []

    @property
    def rows(self) -> Sequence[QueryRow]:
        """What is shown."""
        return self._rows

    def show(self, rows: Sequence[QueryRow]) -> None:
        """Show these rows; when the labels are the same, the rows stay where they are."""
        same = [r.label for r in rows] == [r.label for r in self._rows]
        if same:
            self._rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, SOURCE))
            return
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def row(self, number: int) -> QueryRow | None:
        """The row of that number."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, badge and sentence of a cell."""
        row = self.row(index.row()) if index.isValid() else None
        if row is None:
            return None
        column = index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return _text(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{COLUMNS[column]}: {_text(row, column) or 'nothing'}"
        if role == BADGE and column == VERDICT:
            return BADGES.get(row.verdict)
        if role == FAINT:
            return column == SOURCE or (column == VERDICT and row.outcome is None)
        return self.side(column) if role == _ALIGN else None


def _text(row: QueryRow, column: int) -> str:
    label, outcome = row.label, row.outcome
    if column == VERDICT:
        return row.verdict
    if column == QUERY:
        return label.query
    if column == EXPECTED:
        return ", ".join(label.expected) or "no tool"
    if column == SOURCE:
        return _SOURCES.get(label.source, label.source)
    if outcome is None:
        return ""
    if column == FOUND:
        return row.found
    if column == RANK:
        return str(outcome.worst) if outcome.worst else ""
    return f"{outcome.tokens:,}"
