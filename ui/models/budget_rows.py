"""The hosts against the budget, as a table."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QObject, Qt

from app.export.sizes import HostSize
from ui.models.host_state import MODE_NAMES
from ui.models.roles import BADGE, BAR
from ui.models.row_table import Index, RowTable
from ui.models.verdicts import BADGES

COLUMNS = ("Host", "Way", "Tokens ≈", "Of budget", "Tools", "State")
HOST, WAY, TOKENS, SHARE, TOOLS, STATE = range(len(COLUMNS))
_DEFERS = "This host loads tools on demand by itself: its model gets less than this."


class BudgetTable(RowTable):
    """One row a host."""

    columns = COLUMNS
    tips: ClassVar[Mapping[int, str]] = {
        TOKENS: "Tool definitions that the model gets, computed from what is on now.",
        TOOLS: "How many tools that is; behind the stroke the most the host takes.",
    }
    numbers = (SHARE, TOOLS)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reach = 1  # tokens at the right end of the bars

    def show(self, sizes: Sequence[HostSize]) -> None:
        """Show these, the largest first."""
        self.beginResetModel()
        self._rows = sorted(sizes, key=lambda size: -size.verdict.tokens)
        most = [size.verdict.tokens for size in sizes]
        limits = [size.verdict.budget.block_over for size in sizes]
        self._reach = max([1, *most, *limits])
        self.endResetModel()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, bar, badge and tooltip of a cell."""
        if not 0 <= index.row() < len(self._rows):
            return None
        size: HostSize = self._rows[index.row()]
        column = index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return _text(size, column)
        if role == BAR and column == TOKENS:
            return size.verdict.tokens / self._reach, 0.0
        if role == BADGE and column == STATE:
            return BADGES[size.verdict.word]
        if role == Qt.ItemDataRole.ToolTipRole:
            told = [*size.verdict.reasons, *([_DEFERS] if size.defers else [])]
            return " ".join(told) or None
        return self.side(column) if role == Qt.ItemDataRole.TextAlignmentRole else None


def _text(size: HostSize, column: int) -> str:
    found = size.verdict
    cap, limit = found.budget.max_tools, found.budget.limit
    texts = {
        HOST: size.host,
        WAY: MODE_NAMES[size.mode],
        TOKENS: f"{found.tokens:,}",
        SHARE: f"{100 * found.tokens / limit:.0f} %" if limit else "",
        TOOLS: f"{found.tools} / {cap}" if cap else str(found.tools),
        STATE: found.word,
    }
    return texts[column]
