"""Two runs of the query set side by side: what became of each query."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt

from app.ranking.gates import THETA
from app.ranking.learning.runs import Comparison, compare
from store.records import RunRecord
from store.typed import JsonMapping
from ui.pages.query_set.query_rows import FIXED, NEW, PASSED, REGRESSED, STILL
from ui.shell.badges import badge
from ui.widgets.columns import Column
from ui.widgets.delegates import BadgeDelegate
from ui.widgets.roles import BADGE
from ui.widgets.row_table import RowTable

_ROLE = Qt.ItemDataRole
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
    "requests_weight": "of requests",
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
    differences: str  # how the means and the settings differ


def compared(earlier: RunRecord, later: RunRecord) -> Compared:
    """The later run against the earlier one, the worst changes first."""
    comparison = compare(earlier, later)
    groups = _groups(comparison)
    order = (REGRESSED, FIXED, STILL, NEW, PASSED)
    rows = tuple(
        CompareRow(kind, query, _got(earlier, query), _got(later, query))
        for kind in order
        for query in groups[kind]
    )
    counts = {kind: len(groups[kind]) for kind in KINDS}
    parts = [*_means(earlier, later), *_settings(earlier, later)]
    return Compared(rows, counts, comparison.same_catalogue, " · ".join(parts))


def _groups(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {
        FIXED: comparison.fixed,
        REGRESSED: comparison.regressed,
        STILL: comparison.still_failing,
        PASSED: comparison.passed,
        NEW: comparison.new,
    }


def _got(run: RunRecord, query: str) -> str:
    """Result of a query in a run: the tools that it lacks, or the number of tools in."""
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
        lines.append(f"{word} {_value(before.get(key))} → {_value(after.get(key))}")
    # where both sides read alike, nothing that can be seen has changed
    return [line for line in lines if line.split(" → ")[0].split()[-1] != line.split()[-1]]


def _threshold(settings: JsonMapping) -> str:
    """The number that the threshold field showed."""
    theta = settings.get("cut") == THETA
    value = settings.get("theta", 0.0) if theta else 1 - settings.get("delta", 0.0)
    return f"{value:.2f}"


def _value(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def recall_of(run: RunRecord) -> float:
    """A run's recall; of runs that did not keep it, the share of queries that pass."""
    means = run.result.get("means", {})
    if "recall" in means:
        return float(means["recall"])
    passed = list(run.result.get("passed", {}).values())
    return sum(passed) / len(passed) if passed else 0.0


class CompareTable(RowTable[CompareRow]):
    """The queries of two runs; some kinds of change can be left out."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                _column("Change", lambda row: row.kind, width=120, badged=True),
                _column("Query", lambda row: row.query),
                _column("Before", lambda row: row.before),
                _column("After", lambda row: row.after),
            ),
            parent,
        )

    def show(self, rows: Sequence[CompareRow], kinds: frozenset[str]) -> None:
        """Show the rows of these kinds, all when none is given."""
        self.replace_rows([row for row in rows if not kinds or row.kind in kinds])


def _column(
    title: str, text: Callable[[CompareRow], str], *, width: int = 0, badged: bool = False
) -> Column[CompareRow]:
    """A column whose sentence for screen readers names it."""
    roles: dict[int, Callable[[CompareRow], object]] = {
        _ROLE.ToolTipRole: text,
        _ROLE.AccessibleTextRole: lambda row: f"{title}: {text(row)}",
    }
    if badged:
        roles[BADGE] = lambda row: badge(text(row))
    delegate = BadgeDelegate if badged else None
    return Column(title, text, delegate=delegate, width=width, roles=roles)
