"""The hosts against the budget, as a table."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt

from app.host_status.sizes import HostSize
from ui.shell.badges import badge
from ui.shell.host_names import MODE_NAMES
from ui.widgets.columns import Column
from ui.widgets.delegates import BadgeDelegate, BarDelegate
from ui.widgets.roles import BADGE, BAR
from ui.widgets.row_table import RowTable

HOST, WAY, TOKENS, SHARE = "Host", "Way", "Tokens ≈", "Of budget"
TOOLS, STATE = "Tools", "State"
_DEFERS = "This host sends names at first and loads {:,} tokens ≈ of schemas on demand."


class BudgetTable(RowTable[HostSize]):
    """One row a host."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(HOST, lambda size: size.host, width=170),
                Column(WAY, way_text, width=190),
                Column(
                    TOKENS,
                    lambda size: f"{size.verdict.tokens:,}",
                    lambda size: size.verdict.tokens,
                    delegate=BarDelegate,
                    tip="What the model gets at its first request, computed from what is on now.",
                    roles={BAR: lambda size: (size.verdict.tokens / self._reach, 0.0)},
                ),
                Column(SHARE, _share, width=84, right=True),
                Column(
                    TOOLS,
                    _tools,
                    lambda size: size.verdict.tools,
                    width=84,
                    tip="Number of tools; after the slash, the host's limit.",
                    right=True,
                ),
                Column(
                    STATE,
                    lambda size: size.verdict.word,
                    delegate=BadgeDelegate,
                    width=90,
                    roles={BADGE: lambda size: badge(size.verdict.word)},
                ),
            ),
            parent,
        )
        self._reach = 1  # tokens at the right end of the bars

    def show(self, sizes: Sequence[HostSize]) -> None:
        """Show these, the largest first."""
        most = [size.verdict.tokens for size in sizes]
        limits = [size.verdict.budget.block_over for size in sizes]
        self._reach = max([1, *most, *limits])
        self.replace_rows(sorted(sizes, key=lambda size: -size.verdict.tokens))

    def row_data(self, row: HostSize, role: int) -> object:
        """Reasons of the host's verdict, as a tooltip."""
        if role != Qt.ItemDataRole.ToolTipRole:
            return None
        later = [_DEFERS.format(row.sent.later)] if row.sent.later else []
        return " ".join([*row.verdict.reasons, *later]) or None


def way_text(size: HostSize) -> str:
    """Mode in which the host gets its tools, and a note if it loads them on demand."""
    return MODE_NAMES[size.mode] + (", on demand" if size.sent.later else "")


def _share(size: HostSize) -> str:
    limit = size.verdict.budget.limit
    return f"{100 * size.verdict.tokens / limit:.0f} %" if limit else ""


def _tools(size: HostSize) -> str:
    cap, number = size.verdict.budget.max_tools, size.verdict.tools
    return f"{number} / {cap}" if cap else str(number)
