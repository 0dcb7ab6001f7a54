"""What there is to review as a table: open first, the worst of it first."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.safety.review import APPROVED, KEPT, OFF, OPEN, ReviewItem
from ui.models.roles import BADGE, FAINT, BadgeText
from ui.models.row_table import Index, RowTable
from ui.text import ago

COLUMNS = ("Severity", "Tool", "Finding", "When")
SEVERITY, TOOL, FINDING, WHEN = range(len(COLUMNS))
SEVERITIES = {
    "block": BadgeText("Block", "block", "close-octagon", solid=True),
    "warn": BadgeText("Warn", "warn", "alert"),
}
DECISIONS = {
    APPROVED: BadgeText("Approved", "passed", "check-circle-outline"),
    KEPT: BadgeText("Held", "neutral", "lock-outline"),
    OFF: BadgeText("Off", "neutral", "minus-circle-outline"),
}


class ReviewTable(RowTable):
    """One row a tool."""

    columns = COLUMNS

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = 0.0

    def show(self, items: Sequence[ReviewItem], now: float) -> None:
        """Show these, as seen at that time (seconds since the epoch)."""
        self.beginResetModel()
        self._rows, self._now = list(items), now
        self.endResetModel()

    def item(self, number: int) -> ReviewItem | None:
        """The item of that row."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def row_of(self, tool_id: int) -> int:
        """The row of the tool with that row id, -1 when it is not shown."""
        ids = [item.row.tool.id for item in self._rows]
        return ids.index(tool_id) if tool_id in ids else -1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, badge and tooltip of a cell."""
        item = self.item(index.row())
        if item is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._text(item, index.column())
        if role == BADGE and index.column() == SEVERITY:
            return badge(item)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._text(item, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.side(index.column())
        return item.state != OPEN if role == FAINT else None

    def _text(self, item: ReviewItem, column: int) -> str:
        more = len(item.findings) - 1
        texts = {
            SEVERITY: badge(item).word,
            FINDING: f"{item.title} (+{more})" if more > 0 else item.title,
            TOOL: item.row.tool.tool_id,
            WHEN: ago(self._now - (item.decided_at or item.at)),
        }
        return texts[column]


def badge(item: ReviewItem) -> BadgeText:
    """How bad an open one is; what was decided about the others."""
    return SEVERITIES[item.severity] if item.state == OPEN else DECISIONS[item.state]
