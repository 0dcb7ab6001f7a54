"""The catalogue as a tree model: servers, their tools; filtered and sorted by itself."""

from collections.abc import Callable, Iterable, Mapping

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    Qt,
    Signal,
)
from PySide6.QtGui import QIcon

from app.catalog.catalog import Catalog, CatalogTool
from app.policy.usage import Usage
from store.records import ServerRecord
from ui.pages.catalog.tree_cells import PROBLEM, TOKENS, Scale, tree_columns
from ui.pages.catalog.tree_rows import ATTENTION, Branch, Leaf, make_branches, refreshed
from ui.widgets.columns import place, side
from ui.widgets.filter_query import Facts, Filter
from ui.widgets.two_levels import ROOT, Index, Key, TwoLevels

# made once: putting flags together costs more than all else that a row needs
_SERVER = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_SERVER_TICK = _SERVER | Qt.ItemFlag.ItemIsUserCheckable
_TOOL = _SERVER | Qt.ItemFlag.ItemNeverHasChildren
_TOOL_TICK = _TOOL | Qt.ItemFlag.ItemIsUserCheckable


class CatalogTree(TwoLevels[Branch, Leaf]):
    """Servers at the top, tools below; a server that failed has its problem as a first child.

    An index keeps the number of its branch plus one, 0 for servers.
    Signals: tick_requested(list of CatalogTool, on) when a check box is clicked; the model itself
    changes nothing.
    """

    tick_requested = Signal(object, bool)

    def __init__(self, icons: Callable[[str], QIcon], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[Branch] = []
        self._branches: list[Branch] = []  # those in view
        self._filter: Filter | None = None
        self._usage = (Usage(), 0.0)  # and when it was read
        self._largest = Scale()
        self.columns = tree_columns(icons, self._largest)
        self._sort = (place(self.columns, TOKENS), Qt.SortOrder.DescendingOrder)

    def show(self, catalog: Catalog, host_names: Mapping[str, str]) -> None:
        """Show a catalogue; selection and open servers stay."""
        self._all = make_branches(catalog, host_names)
        if self.usage.calls:
            self._take_usage()
        self._scale()
        self._rearrange(self._order)

    def update(self, changed: Mapping[int, CatalogTool]) -> None:
        """Take tools whose state changed; their rows stay where they are."""
        for branch in self._all:
            self._take(branch, changed)
        last = len(self.columns) - 1
        for number, branch in enumerate(self._branches):
            rows = [n for n, leaf in enumerate(branch.shown) if leaf.row.tool.id in changed]
            if rows:
                first = int(bool(branch.problem))
                top = self.createIndex(rows[0] + first, 0, number + 1)
                end = self.createIndex(rows[-1] + first, last, number + 1)
                self.dataChanged.emit(top, end)
                self.dataChanged.emit(
                    self.createIndex(number, 0, 0), self.createIndex(number, last, 0)
                )

    @property
    def usage(self) -> Usage:
        """Calls of the last days."""
        return self._usage[0]

    def show_usage(self, usage: Usage, now: float) -> None:
        """Take how often tools were called in the last days."""
        self._usage = (usage, now)
        self._take_usage()
        self._rearrange(self._order)

    def set_filter(self, wanted: Filter | None) -> None:
        """Show only what passes; None for everything."""
        self._filter = wanted if wanted is not None and wanted.tests else None
        self._rearrange(self._order)

    def recolor(self) -> None:
        """Draw again after a theme change."""
        self.layoutChanged.emit()

    @property
    def filtered(self) -> bool:
        """True if a filter is set."""
        return self._filter is not None

    def shown_tools(self) -> list[CatalogTool]:
        """The tools that pass the filter."""
        return [leaf.row for branch in self._branches for leaf in branch.shown]

    def every_facts(self) -> list[Facts]:
        """Facts of all tools, for filters."""
        return [leaf.facts for branch in self._all for leaf in branch.leaves]

    def tool_at(self, index: Index) -> CatalogTool | None:
        """The tool of that row."""
        leaf = self._leaf(index) if index.isValid() else None
        return leaf.row if leaf else None

    def server_at(self, index: Index) -> ServerRecord | None:
        """The server of that row, also for its tools."""
        return self._branch(index).server if index.isValid() else None

    def is_problem(self, index: Index) -> bool:
        """True if that row is a server's problem."""
        return index.isValid() and index.internalId() > 0 and self._leaf(index) is None

    def index_of_tool(self, tool_id: int) -> QModelIndex:
        """Index of that tool's row, invalid when it is not shown."""
        for number, branch in enumerate(self._branches):
            for row, leaf in enumerate(branch.shown):
                if leaf.row.tool.id == tool_id:
                    return self.createIndex(row + int(bool(branch.problem)), 0, number + 1)
        return QModelIndex()

    def index_of_server(self, name: str) -> QModelIndex:
        """Index of that server's row, invalid when it is not shown."""
        names = [branch.server.name for branch in self._branches]
        return self.createIndex(names.index(name), 0, 0) if name in names else QModelIndex()

    def tools_under(self, indexes: Iterable[Index]) -> list[CatalogTool]:
        """The tools of those rows; a server's row gives all its tools that are shown."""
        tools: dict[int, CatalogTool] = {}
        for index in indexes:
            leaf = self._leaf(index)
            if index.internalId() == 0:
                rows = [leaf.row for leaf in self._branch(index).shown]
            else:
                rows = [leaf.row] if leaf else []
            tools.update((row.tool.id, row) for row in rows)
        return list(tools.values())

    def rowCount(self, parent: Index = ROOT) -> int:
        """Servers, or a server's children."""
        if not parent.isValid():
            return len(self._branches)
        if parent.internalId() or parent.column():
            return 0
        branch = self._branches[parent.row()]
        return len(branch.shown) + (1 if branch.problem else 0)

    def hasChildren(self, parent: Index = ROOT) -> bool:
        """As rowCount says, without counting."""
        return self.rowCount(parent) > 0

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Servers and tools have check boxes; problems have none."""
        number = index.internalId()
        if not number:
            if not index.isValid():
                return Qt.ItemFlag.NoItemFlags
            tick = index.column() == 0 and self._branches[index.row()].leaves
            return _SERVER_TICK if tick else _SERVER
        if index.column() == 0 and (index.row() or not self._branches[number - 1].problem):
            return _TOOL_TICK
        return _TOOL

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Content of a cell in a role."""
        if not index.isValid():
            return None
        branch, column = self._branch(index), self.columns[index.column()]
        number = index.internalId()
        leaf = self._leaf(index) if number else None
        if number and leaf is None:
            return None if index.column() else PROBLEM.data(branch, role)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return side(column)
        return column.row.data(leaf, role) if leaf else column.group.data(branch, role)

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A clicked check box asks for a tick; the answer comes through update()."""
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid():
            return False
        on = Qt.CheckState(value) != Qt.CheckState.Unchecked
        tools = [tool for tool in self.tools_under([index]) if tool.on != on]
        if tools:
            self.tick_requested.emit(tools, on)
        return bool(tools)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort servers, and the tools of each."""
        self._sort = (column, order)
        self._rearrange(self._order)

    def _order(self) -> None:
        """Filter and sort anew."""
        accepts = self._filter.accepts if self._filter else None
        number, order = self._sort
        column, down = self.columns[number], order == Qt.SortOrder.DescendingOrder
        shown = []
        for branch in self._all:
            leaves = branch.leaves
            branch.shown = [x for x in leaves if accepts(x.facts)] if accepts else list(leaves)
            branch.shown.sort(key=column.row.sort_key, reverse=down)
            if accepts is None or branch.shown:
                shown.append(branch)
        shown.sort(key=column.group.sort_key, reverse=down)
        shown.sort(key=lambda branch: branch.server.status not in ATTENTION)
        self._branches = shown

    def _places(self) -> dict[Key, tuple[int, int]]:
        """Row and internal id of every row."""
        places: dict[Key, tuple[int, int]] = {}
        for number, branch in enumerate(self._branches):
            server = branch.server.id
            places[(server, 0)] = (number, 0)
            first = 0
            if branch.problem:
                places[(server, -1)] = (0, number + 1)
                first = 1
            for row, leaf in enumerate(branch.shown, first):
                places[(server, leaf.row.tool.id)] = (row, number + 1)
        return places

    def _key(self, index: Index) -> Key:
        server = self._branch(index).server.id
        if not index.internalId():
            return (server, 0)
        leaf = self._leaf(index)
        return (server, leaf.row.tool.id if leaf else -1)

    def _branch(self, index: Index) -> Branch:
        number = index.internalId()
        return self._branches[number - 1 if number else index.row()]

    def _leaf(self, index: Index) -> Leaf | None:
        number = index.internalId()
        if not number:
            return None
        branch = self._branches[number - 1]
        row = index.row() - (1 if branch.problem else 0)
        return branch.shown[row] if row >= 0 else None

    def _take(self, branch: Branch, changed: Mapping[int, CatalogTool]) -> None:
        for leaf in branch.leaves:
            row = changed.get(leaf.row.tool.id)
            if row is not None and row is not leaf.row:
                leaf.row, leaf.facts = row, refreshed(leaf.facts, row)
        branch.sum_up()

    def _take_usage(self) -> None:
        for branch in self._all:
            for leaf in branch.leaves:
                leaf.take_usage(*self._usage)
            branch.sum_up()

    def _scale(self) -> None:
        """Bars are as long as their share of the largest server and of the largest tool."""
        tools = [leaf.row.cost for branch in self._all for leaf in branch.leaves]
        self._largest.server = max((branch.every for branch in self._all), default=0)
        self._largest.tool = max(tools, default=0)
