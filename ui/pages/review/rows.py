"""Items of Review as a table: open first, the most severe of them first."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt

from app.safety.review import OPEN, ReviewItem
from ui.look.text import ago
from ui.shell.badges import badge
from ui.widgets.columns import Column, cell_value
from ui.widgets.delegates import BadgeDelegate
from ui.widgets.roles import BADGE, FAINT, BadgeText
from ui.widgets.row_table import Index, RowTable

SEVERITY, TOOL, FINDING, WHEN = "Severity", "Tool", "Finding", "When"


class ReviewTable(RowTable[ReviewItem]):
    """One row a tool."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(
                    SEVERITY,
                    lambda item: item_badge(item).word,
                    delegate=BadgeDelegate,
                    width=94,
                    roles={BADGE: item_badge},
                ),
                Column(TOOL, lambda item: item.row.tool.tool_id),
                Column(FINDING, _finding),
                Column(WHEN, lambda item: ago(self._now - _at(item)), _at, width=84),
            ),
            parent,
        )
        self._now = 0.0

    def show(self, items: Sequence[ReviewItem], now: float) -> None:
        """Show these, as seen at that time (seconds since the epoch)."""
        self._now = now
        self.replace_rows(items)

    def row_of(self, tool_id: int) -> int:
        """The row of the tool with that row id, -1 when it is not shown."""
        ids = [item.row.tool.id for item in self._rows]
        return ids.index(tool_id) if tool_id in ids else -1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A cell; its tooltip is its whole text."""
        tip = role == Qt.ItemDataRole.ToolTipRole
        return cell_value(super().data(index, Qt.ItemDataRole.DisplayRole if tip else role), role)

    def row_data(self, row: ReviewItem, role: int) -> object:
        """Decided items are faint."""
        return row.state != OPEN if role == FAINT else None


def item_badge(item: ReviewItem) -> BadgeText:
    """Severity of an open item; the decision about any other."""
    return badge(item.severity if item.state == OPEN else item.state)


def _finding(item: ReviewItem) -> str:
    more = len(item.findings) - 1
    return f"{item.title} (+{more})" if more > 0 else item.title


def _at(item: ReviewItem) -> float:
    return item.decided_at or item.at
