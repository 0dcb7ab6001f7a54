"""Two runs of the query set side by side: what became of each query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.routing.gates import THETA
from app.routing.runs import Comparison, compare
from store.records import RunRecord
from ui.models.query_rows import BADGES, FIXED, NEW, PASSED, REGRESSED, STILL
from ui.models.roles import BADGE
from ui.models.row_table import Index, RowTable

COLUMNS = ("Change", "Query", "Before", "After")
CHANGE, QUERY, BEFORE, AFTER = range(len(COLUMNS))
KINDS = (FIXED, REGRESSED, STILL, PASSED, NEW)
_MEANS = (
    ("recall", "recall", 2),
    ("mrr", "MRR", 2),
    ("tools", "tools", 1),
    ("tokens", "tokens", 0),
)
_SETTINGS = {
    "cut": "cut",
    "floor": "floor",
    "k": "top-k",
    "token_budget": "token budget",
    "name_weight": "weight of names",
    "description_weight": "of descriptions",
    "parameters_weight": "of parameters",
    "server_weight": "of servers",
}


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One query in both runs."""

    kind: str
    query: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs compared."""

    rows: tuple[CompareRow, ...]
    counts: Mapping[str, int]
    same_catalogue: bool
    told: str  # how the means and the settings differ


def compared(earlier: RunRecord, later: RunRecord) -> Compared:
    """The later run against the earlier one, the worst changes first."""
    found = compare(earlier, later)
    groups = _groups(found)
    order = (REGRESSED, FIXED, STILL, NEW, PASSED)
    rows = tuple(
        CompareRow(kind, query, _got(earlier, query), _got(later, query))
        for kind in order
        for query in groups[kind]
    )
    counts = {kind: len(groups[kind]) for kind in KINDS}
    parts = [*_means(earlier, later), *_settings(earlier, later)]
    return Compared(rows, counts, found.same_catalogue, " · ".join(parts))


def _groups(found: Comparison) -> dict[str, tuple[str, ...]]:
    return {
        FIXED: found.fixed,
        REGRESSED: found.regressed,
        STILL: found.still_failing,
        PASSED: found.passed,
        NEW: found.new,
    }


def _got(run: RunRecord, query: str) -> str:
    """What a run gave a query: which tools it lacks, or how many are in."""
    if query not in run.result.get("passed", {}):
        return "not asked"
    got = run.result.get("got", {}).get(query)
    if got is None:
        return "passed" if run.result["passed"][query] else "failed"
    if got["missing"]:
        return f"lacks {', '.join(got['missing'])}"
    number = len(got["in"])
    return "no tool in" if not number else f"{number} tool{'' if number == 1 else 's'} in"


def _means(earlier: RunRecord, later: RunRecord) -> list[str]:
    before, after = earlier.result.get("means", {}), later.result.get("means", {})
    return [
        f"{word} {before[key]:,.{digits}f} → {after[key]:,.{digits}f}"
        for key, word, digits in _MEANS
        if key in before and key in after
    ]


def _settings(earlier: RunRecord, later: RunRecord) -> list[str]:
    before, after = earlier.settings, later.settings
    lines = [f"threshold {_threshold(before)} → {_threshold(after)}"]
    for key, word in _SETTINGS.items():
        if key not in before or key not in after:
            continue  # one of the runs was made before the setting was there
        lines.append(f"{word} {_said(before.get(key))} → {_said(after.get(key))}")
    # where both sides read alike, nothing that can be seen has changed
    return [line for line in lines if line.split(" → ")[0].split()[-1] != line.split()[-1]]


def _threshold(settings: Mapping[str, Any]) -> str:
    """The number that the threshold field showed."""
    theta = settings.get("cut") == THETA
    value = settings.get("theta", 0.0) if theta else 1 - settings.get("delta", 0.0)
    return f"{value:.2f}"


def _said(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def recall_of(run: RunRecord) -> float:
    """A run's recall; of runs that did not keep it, the share of queries that pass."""
    means = run.result.get("means", {})
    if "recall" in means:
        return float(means["recall"])
    passed = list(run.result.get("passed", {}).values())
    return sum(passed) / len(passed) if passed else 0.0


class CompareTable(RowTable):
    """The queries of two runs; some kinds of change can be left out."""

    columns = COLUMNS

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[CompareRow] = []

    def show(self, rows: Sequence[CompareRow], kinds: frozenset[str]) -> None:
        """Show the rows of these kinds, all when none is given."""
        self.beginResetModel()
        self._rows = [row for row in rows if not kinds or row.kind in kinds]
        self.endResetModel()

    def row(self, number: int) -> CompareRow | None:
        """The row of that number."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, badge and sentence of a cell."""
        row = self.row(index.row()) if index.isValid() else None
        if row is None:
            return None
        text = (row.kind, row.query, row.before, row.after)[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{COLUMNS[index.column()]}: {text}"
        if role == BADGE and index.column() == CHANGE:
            return BADGES[row.kind]
        return None
