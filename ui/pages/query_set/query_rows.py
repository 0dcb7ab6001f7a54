"""The labelled queries as a table: does each find its tools, and which are missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt

from app.hooks.record_labels import RECORD
from app.hosts.facts import host
from app.ranking.learning.cases import Outcome
from app.ranking.tool_search import ENGINE, MOST
from store.records import LabelRecord, RunRecord
from ui.shell.badges import BADGES
from ui.widgets.columns import Column, MakeDelegate, Roles
from ui.widgets.delegates import BadgeDelegate
from ui.widgets.roles import BADGE, FAINT
from ui.widgets.row_table import RowTable

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
    return Column(title, text, sort, delegate, width, tip, right=sort is not None, roles=roles)


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
