"""Use of tools as a tree model: servers, their tools; each column sorts."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QIcon

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.coverage import ServerUse, ToolUse
from ui.look.text import ago, count
from ui.widgets.columns import Cell, TreeColumn, place, side
from ui.widgets.delegates import BarDelegate
from ui.widgets.roles import BAR, FAINT
from ui.widgets.two_levels import ROOT, Index, Key, TwoLevels

NAME, TOKENS, NEVER, CALLS, LAST = (
    "Server / tool",
    "Tokens ≈",
    "Never called ≈",
    "Calls",
    "Last called",
)
_ROLE = Qt.ItemDataRole


class UsageTree(TwoLevels[ServerUse, ToolUse]):
    """Servers at the top, tools below; an index keeps its server's number plus one, 0 for it."""

    def __init__(self, icons: Callable[[str], QIcon], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._now = 0.0
        self._largest = 1
        self.columns = self._make_columns()
        self._sort = (place(self.columns, NEVER), Qt.SortOrder.DescendingOrder)
        self._servers: list[ServerUse] = []
        self._tools: list[list[ToolUse]] = []  # of each server, in the order of the sort

    def show(self, servers: Sequence[ServerUse], now: float) -> None:
        """Show these; selection and open servers stay. "2 h ago" is counted from `now`."""
        self._now = now
        self._largest = max((use.tokens for use in servers), default=0) or 1
        self._rearrange(lambda: self._order(servers))

    def server_at(self, index: Index) -> ServerUse:
        """The server of that row, also for its tools."""
        number = index.internalId()
        return self._servers[number - 1 if number else index.row()]

    def tool_at(self, index: Index) -> ToolUse | None:
        """The tool of that row, None for a server's."""
        number = index.internalId()
        return self._tools[number - 1][index.row()] if number else None

    def tools_under(self, indexes: Iterable[Index]) -> list[CatalogTool]:
        """The tools of those rows; a server's row gives its tools without a call."""
        tools: dict[int, CatalogTool] = {}
        for index in indexes:
            tool = self.tool_at(index)
            rows = [tool.row] if tool else self.server_at(index).never
            tools.update((row.tool.id, row) for row in rows)
        return list(tools.values())

    def rowCount(self, parent: Index = ROOT) -> int:
        """Servers, or a server's tools."""
        if not parent.isValid():
            return len(self._servers)
        return 0 if parent.internalId() or parent.column() else len(self._tools[parent.row()])

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> object:
        """Text, bar and sentence of a cell."""
        if not index.isValid():
            return None
        column, tool, server = self.columns[index.column()], *self._use_at(index)
        if role == _ROLE.TextAlignmentRole:
            return side(column)
        if role == FAINT:
            return not (tool or server).calls
        if tool is not None:
            return column.row.data(tool, role)
        return column.group.data(server, role)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort servers, and the tools of each."""
        self._sort = (column, order)
        self._rearrange(lambda: self._order(self._servers))

    def _key(self, index: Index) -> Key:
        tool = self.tool_at(index)
        return self.server_at(index).server, tool.row.tool.id if tool else 0

    def _places(self) -> dict[Key, tuple[int, int]]:
        """Row and internal id of every row."""
        places: dict[Key, tuple[int, int]] = {}
        for number, server in enumerate(self._servers):
            places[(server.server, 0)] = (number, 0)
            for row, tool in enumerate(self._tools[number]):
                places[(server.server, tool.row.tool.id)] = (row, number + 1)
        return places

    def _order(self, servers: Sequence[ServerUse]) -> None:
        number, order = self._sort
        column, down = self.columns[number], order == Qt.SortOrder.DescendingOrder
        self._servers = sorted(servers, key=column.group.sort_key, reverse=down)
        self._tools = [
            sorted(server.tools, key=column.row.sort_key, reverse=down) for server in self._servers
        ]

    def _use_at(self, index: Index) -> tuple[ToolUse | None, ServerUse]:
        return self.tool_at(index), self.server_at(index)

    def _make_columns(self) -> tuple[TreeColumn[ServerUse, ToolUse], ...]:
        return (
            TreeColumn(
                NAME,
                Cell(
                    lambda use: use.server,
                    roles={
                        _ROLE.AccessibleTextRole: self._server_sentence,
                        _ROLE.DecorationRole: lambda _use: self._icons("server"),
                    },
                ),
                Cell(
                    lambda use: use.row.tool.name,
                    roles={
                        _ROLE.AccessibleTextRole: self._tool_sentence,
                        _ROLE.DecorationRole: lambda _use: self._icons("wrench-outline"),
                    },
                ),
            ),
            TreeColumn(
                TOKENS,
                Cell(lambda use: count(use.tokens), lambda use: use.tokens, {BAR: self._share}),
                Cell(lambda use: count(use.row.cost), lambda use: use.row.cost, {BAR: self._bar}),
                delegate=BarDelegate,
                tip="What hosts may get of a server: used, and hatched the part without a call.",
            ),
            TreeColumn(
                NEVER,
                Cell(_unused, lambda use: use.unused),
                Cell(
                    lambda use: "" if use.calls else count(use.row.cost),
                    lambda use: 0 if use.calls else use.row.cost,
                ),
                width=150,
                tip="Tokens of the tools without a call in the period.",
                right=True,
            ),
            TreeColumn(
                CALLS,
                Cell(lambda use: count(use.calls), lambda use: use.calls),
                Cell(lambda use: count(use.calls), lambda use: use.calls),
                width=80,
                tip="Calls through Toolcrib in the period.",
                right=True,
            ),
            TreeColumn(
                LAST,
                Cell(lambda use: self._ago(use.last), lambda use: use.last),
                Cell(lambda use: self._ago(use.last), lambda use: use.last),
                width=110,
                right=True,
            ),
        )

    def _share(self, use: ServerUse) -> tuple[float, float]:
        """Used and unused as shares of the largest server."""
        return (use.tokens - use.unused) / self._largest, use.unused / self._largest

    def _bar(self, use: ToolUse) -> tuple[float, float]:
        share = use.row.cost / self._largest
        return (share, 0.0) if use.calls else (0.0, share)

    def _tool_sentence(self, use: ToolUse) -> str:
        return f"{use.row.tool.name}, {plural(use.row.cost, 'token')}, {self._calls(use)}"

    def _server_sentence(self, use: ServerUse) -> str:
        return (
            f"{use.server}, server, {plural(use.tokens, 'token')}, {count(use.unused)} of them"
            f" never called, {self._calls(use)}"
        )

    def _calls(self, use: ToolUse | ServerUse) -> str:
        return f"{plural(use.calls, 'call')}, last {self._ago(use.last)}"

    def _ago(self, at: float) -> str:
        return ago(self._now - at) if at else "never"


def _unused(use: ServerUse) -> str:
    share = f" ({100 * use.unused / use.tokens:.0f} %)" if use.tokens else ""
    return f"{count(use.unused)}{share}" if use.unused else ""
