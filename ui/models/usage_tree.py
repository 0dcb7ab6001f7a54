"""Use of tools as a tree model: servers, their tools; each column sorts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.catalog import CatalogTool
from app.policy.coverage import ServerUse, ToolUse
from ui.models.roles import BAR, FAINT
from ui.text import ago, count, plural

TITLES = ("Server / tool", "Tokens ≈", "Never called ≈", "Calls", "Last called")
NAME, TOKENS, NEVER, CALLS, LAST = range(len(TITLES))
_TIPS = {
    TOKENS: "What hosts may get of a server: used, and hatched what nobody called.",
    NEVER: "Tokens of the tools that nobody called in the period.",
    CALLS: "Calls through Toolcrib in the period.",
}
_RIGHT = (NEVER, CALLS, LAST)
Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_Key = tuple[str, int]  # server, tool row id (0: the server)


class UsageTree(QAbstractItemModel):
    """Servers at the top, tools below; an index keeps its server's number plus one, 0 for it."""

    def __init__(self, icons: Callable[[str], Any], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._now = 0.0
        self._largest = 1
        self._sort = (NEVER, Qt.SortOrder.DescendingOrder)
        self._servers: list[ServerUse] = []
        self._tools: list[list[ToolUse]] = []  # of each server, in the order of the sort

    def show(self, servers: Sequence[ServerUse], now: float) -> None:
        """Show these; selection and open servers stay. "2 h ago" is counted from `now`."""
        self._now = now
        self._largest = max((use.tokens for use in servers), default=0) or 1
        self._arrange(servers)

    def server_at(self, index: Index) -> ServerUse:
        """The server of that row, also for its tools."""
        number = index.internalId()
        return self._servers[number - 1 if number else index.row()]

    def tool_at(self, index: Index) -> ToolUse | None:
        """The tool of that row, None for a server's."""
        number = index.internalId()
        return self._tools[number - 1][index.row()] if number else None

    def tools_under(self, indexes: Iterable[Index]) -> list[CatalogTool]:
        """The tools of those rows; a server stands for its tools that nobody called."""
        found: dict[int, CatalogTool] = {}
        for index in indexes:
            tool = self.tool_at(index)
            rows = [tool.row] if tool else self.server_at(index).never
            found.update((row.tool.id, row) for row in rows)
        return list(found.values())

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Servers, or a server's tools."""
        if not parent.isValid():
            return len(self._servers)
        return 0 if parent.internalId() or parent.column() else len(self._tools[parent.row()])

    def columnCount(self, _parent: Index = _ROOT) -> int:
        """The columns of TITLES."""
        return len(TITLES)

    def index(self, row: int, column: int, parent: Index = _ROOT) -> QModelIndex:
        """The cell at that place."""
        if not (0 <= column < len(TITLES) and 0 <= row < self.rowCount(parent)):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: Index = _ROOT) -> QModelIndex:  # type: ignore[override]
        """A tool's server."""
        number = index.internalId() if index.isValid() else 0
        return self.createIndex(number - 1, 0, 0) if number else QModelIndex()

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The column's title, what it means and its side."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS.get(section)
        return _side(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, bar and sentence of a cell."""
        if not index.isValid():
            return None
        tool, server, column = self.tool_at(index), self.server_at(index), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._tool_text(tool, column) if tool else self._server_text(server, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == NAME:
            return self._sentence(tool or server)
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            return self._icons("wrench-outline" if tool else "server")
        if role == BAR and column == TOKENS:
            return self._bar(tool, server)
        if role == FAINT:
            return not (tool or server).calls
        return _side(column) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort servers, and the tools of each."""
        self._sort = (column, order)
        self._arrange(self._servers)

    def _arrange(self, servers: Sequence[ServerUse]) -> None:
        """Sort anew; persistent indexes (selected, open) follow their rows."""
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        keys = [self._key(index) for index in old]
        self._order(servers)
        if old:
            places = self._places()
            moved = [self._moved(i, places.get(k)) for i, k in zip(old, keys, strict=True)]
            self.changePersistentIndexList(old, moved)
        self.layoutChanged.emit()

    def _key(self, index: Index) -> _Key:
        tool = self.tool_at(index)
        return self.server_at(index).server, tool.row.tool.id if tool else 0

    def _places(self) -> dict[_Key, tuple[int, int]]:
        """Row and internal id of every row."""
        found: dict[_Key, tuple[int, int]] = {}
        for number, server in enumerate(self._servers):
            found[(server.server, 0)] = (number, 0)
            for row, tool in enumerate(self._tools[number]):
                found[(server.server, tool.row.tool.id)] = (row, number + 1)
        return found

    def _moved(self, old: QModelIndex, place: tuple[int, int] | None) -> QModelIndex:
        return self.createIndex(place[0], old.column(), place[1]) if place else QModelIndex()

    def _order(self, servers: Sequence[ServerUse]) -> None:
        column, order = self._sort
        down = order == Qt.SortOrder.DescendingOrder
        self._servers = sorted(servers, key=_SERVER_KEYS[column], reverse=down)
        self._tools = [
            sorted(server.tools, key=_TOOL_KEYS[column], reverse=down) for server in self._servers
        ]

    def _server_text(self, use: ServerUse, column: int) -> str:
        share = f" ({100 * use.unused / use.tokens:.0f} %)" if use.tokens else ""
        texts = (
            use.server,
            count(use.tokens),
            f"{count(use.unused)}{share}" if use.unused else "",
            count(use.calls),
            self._ago(use.last),
        )
        return texts[column]

    def _tool_text(self, use: ToolUse, column: int) -> str:
        cost = use.row.cost
        texts = (
            use.row.tool.name,
            count(cost),
            "" if use.calls else count(cost),
            count(use.calls),
            self._ago(use.last),
        )
        return texts[column]

    def _bar(self, tool: ToolUse | None, server: ServerUse) -> tuple[float, float]:
        """Used and unused as shares of the largest server."""
        if tool is None:
            return (server.tokens - server.unused) / self._largest, server.unused / self._largest
        share = tool.row.cost / self._largest
        return (share, 0.0) if tool.calls else (0.0, share)

    def _sentence(self, use: ToolUse | ServerUse) -> str:
        calls = f"{plural(use.calls, 'call')}, last {self._ago(use.last)}"
        if isinstance(use, ToolUse):
            return f"{use.row.tool.name}, {plural(use.row.cost, 'token')}, {calls}"
        return (
            f"{use.server}, server, {plural(use.tokens, 'token')}, {count(use.unused)} of them"
            f" never called, {calls}"
        )

    def _ago(self, at: float) -> str:
        return ago(self._now - at) if at else "never"


def _side(column: int) -> Qt.AlignmentFlag:
    right = column in _RIGHT
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


_SERVER_KEYS: Sequence[Callable[[ServerUse], Any]] = (
    lambda use: use.server.lower(),
    lambda use: use.tokens,
    lambda use: use.unused,
    lambda use: use.calls,
    lambda use: use.last,
)
_TOOL_KEYS: Sequence[Callable[[ToolUse], Any]] = (
    lambda use: use.row.tool.name.lower(),
    lambda use: use.row.cost,
    lambda use: (not use.calls) * use.row.cost,
    lambda use: use.calls,
    lambda use: use.last,
)
