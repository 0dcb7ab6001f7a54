"""The tree of servers and tools."""

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QMenu,
    QTreeView,
    QVBoxLayout,
)

from app.catalog import CatalogTool
from ui.models.catalog_tree import CALLS, FLAGS, HOSTS, NAME, TOKENS, CatalogTree
from ui.signing import can_sign_in, can_sign_out
from ui.theme import ROW, Theme
from ui.views.delegates import BadgeDelegate, BarDelegate, RowDelegate, TextDelegate

NARROW_BELOW = 680  # pixels
OPEN_BELOW = 200  # matches
NOTHING = "No tool matches. Press Esc to clear the filter."
SIGN_IN, SIGN_OUT = "Sign in…", "Sign out"


class CatalogTreeView(QTreeView):
    """Check boxes, bars and badges; single letters act here only.

    Signals: toggle_asked(list of CatalogTool, on) for Space; pin_asked(list); why_asked(tool);
    picked() when the selection changed; filter_asked() for "/"; server_filter_asked(filter
    line); details_asked() for Enter; sign_in_asked(server); sign_out_asked(server);
    summary_asked(CatalogTool) to edit what it is found by.
    """

    toggle_asked = Signal(object, bool)
    pin_asked = Signal(object)
    why_asked = Signal(object)
    picked = Signal()
    filter_asked = Signal()
    server_filter_asked = Signal(str)
    details_asked = Signal()
    sign_in_asked = Signal(object)
    summary_asked = Signal(object)
    sign_out_asked = Signal(object)

    def __init__(self, theme: Theme, model: CatalogTree) -> None:
        super().__init__()
        self.setObjectName("catalogTree")
        self.setAccessibleName("Servers and tools")
        self.setMinimumWidth(320)
        self._tree = model
        self._open: set[str] = set()  # servers that the user opened, while no filter is at work
        self._restoring = False
        self.setUniformRowHeights(True)
        self.setAlternatingRowColors(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSortingEnabled(True)
        self.setModel(model)
        self.setItemDelegate(RowDelegate(theme, ROW, self))
        self.setItemDelegateForColumn(TOKENS, BarDelegate(theme, ROW, self))
        self.setItemDelegateForColumn(FLAGS, BadgeDelegate(theme, ROW, self))
        self.setItemDelegateForColumn(HOSTS, TextDelegate(theme, ROW, self))
        self._scaled = theme.scaled
        theme.changed.connect(self._fit_hosts)
        self._set_columns()
        self.nothing = QLabel('No tool matches. <a href="#">Clear filter</a>', self.viewport())
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.hide()
        QVBoxLayout(self.viewport()).addWidget(self.nothing)
        self.selectionModel().selectionChanged.connect(lambda: self.picked.emit())
        self.expanded.connect(lambda index: self._remember(index.row(), True))
        self.collapsed.connect(lambda index: self._remember(index.row(), False))

    def selected_tools(self) -> list[CatalogTool]:
        """The tools of the selected rows, servers standing for theirs."""
        rows = self.selectionModel().selectedRows(NAME)
        return self._tree.tools_under(rows or [self.currentIndex()]) if self._any() else []

    def keep_open(self) -> None:
        """After rows changed: servers with matches are open, else those the user opened.

        A filter that lets most tools through opens nothing by itself.
        """
        self._restoring = True
        few = self._tree.filtered and len(self._tree.shown_tools()) <= OPEN_BELOW
        for row in range(self._tree.rowCount()):
            index = self._tree.index(row, 0)
            server = self._tree.server_at(index)
            wanted = few or (server is not None and server.name in self._open)
            if self.isExpanded(index) != wanted:
                self.setExpanded(index, wanted)
            if wanted:
                self._span_problem(row)
        self._restoring = False

    def open_server(self, name: str) -> None:
        """Open a server and go to it."""
        index = self._tree.index_of_server(name)
        if index.isValid():
            self.expand(index)
            self._go(index)

    def go_to_tool(self, tool_id: int) -> None:
        """Select a tool and bring it into view."""
        index = self._tree.index_of_tool(tool_id)
        if index.isValid() and index != self.currentIndex():
            self.expand(index.parent())
            self._go(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space, P, W, /, Enter and copy; the rest is Qt's."""
        tools = self.selected_tools()
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
        elif event.key() == Qt.Key.Key_Space:
            self._toggle(tools)
        elif event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_P and tools:
            self.pin_asked.emit(tools)
        elif event.key() == Qt.Key.Key_W and self._tree.tool_at(self.currentIndex()):
            self.why_asked.emit(self._tree.tool_at(self.currentIndex()))
        elif event.key() == Qt.Key.Key_Slash:
            self.filter_asked.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.details_asked.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with the selected tools."""
        tools = self.selected_tools()
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._add_sign_in(menu)
        if tools:
            self._add_for_tools(menu, tools)
        if menu.isEmpty():
            menu.deleteLater()
        else:
            menu.popup(event.globalPos())

    def _add_sign_in(self, menu: QMenu) -> None:
        """What a server behind a sign-in offers, when its row or its problem's is the current."""
        index = self.currentIndex()
        server = None if self._tree.tool_at(index) else self._tree.server_at(index)
        if server is None:
            return
        if can_sign_in(server):
            menu.addAction("&Sign in…", lambda: self.sign_in_asked.emit(server))
        elif can_sign_out(server):
            menu.addAction("&Sign in again…", lambda: self.sign_in_asked.emit(server))
            menu.addAction("Sign o&ut", lambda: self.sign_out_asked.emit(server))

    def _add_for_tools(self, menu: QMenu, tools: list[CatalogTool]) -> None:
        on, pinned = all(t.on for t in tools), all(t.pinned for t in tools)
        menu.addAction("Turn &off" if on else "Turn &on", lambda: self._toggle(tools))
        menu.addAction("Un&pin" if pinned else "&Pin", lambda: self.pin_asked.emit(tools))
        tool = self._tree.tool_at(self.currentIndex())
        if tool is not None:
            menu.addAction("&Why is it in or out?", lambda: self.why_asked.emit(tool))
            menu.addAction("&Edit summary…", lambda: self.summary_asked.emit(tool))
        server = f'server:"{tools[0].server.name}"'
        menu.addAction("&Filter by this server", lambda: self.server_filter_asked.emit(server))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Names keep their room: a narrow tree has no column of hosts."""
        super().resizeEvent(event)
        self._fit_hosts()

    def _fit_hosts(self) -> None:
        narrow = self.viewport().width() < self._scaled(NARROW_BELOW)
        self.setColumnHidden(HOSTS, narrow)

    def show_calls(self) -> None:
        """A column of calls, once any was seen: nobody can tell before."""
        self.setColumnHidden(CALLS, not self._tree.usage.calls)

    def selected_text(self) -> str:
        """The selected rows, cells divided by tabs."""
        rows = sorted(
            self.selectionModel().selectedRows(NAME), key=lambda i: self.visualRect(i).y()
        )
        cells = (
            [
                str(index.siblingAtColumn(c).data() or "")
                for c in (NAME, TOKENS, CALLS, FLAGS, HOSTS)
                if not self.isColumnHidden(c)
            ]
            for index in rows
        )
        return "\n".join("\t".join(row) for row in cells)

    def _toggle(self, tools: list[CatalogTool]) -> None:
        """All take the state of the current one, turned round."""
        current = self._tree.tools_under([self.currentIndex()]) if self._any() else []
        if tools and current:
            on = not all(tool.on for tool in current)
            self.toggle_asked.emit([t for t in tools if t.on != on], on)

    def _any(self) -> bool:
        return self.currentIndex().isValid()

    def _go(self, index: object) -> None:
        flags = QItemSelectionModel.SelectionFlag
        how = flags.ClearAndSelect | flags.Rows
        self.selectionModel().setCurrentIndex(index, how)  # type: ignore[arg-type]
        self.scrollTo(self.currentIndex())

    def _remember(self, row: int, opened: bool) -> None:
        if opened:
            self._span_problem(row)
        server = self._tree.server_at(self._tree.index(row, 0))
        if self._restoring or self._tree.filtered or server is None:
            return
        if opened:
            self._open.add(server.name)
        else:
            self._open.discard(server.name)

    def _span_problem(self, row: int) -> None:
        parent = self._tree.index(row, 0)
        if self._tree.is_problem(self._tree.index(0, 0, parent)):
            self.setFirstColumnSpanned(0, parent, True)

    def _set_columns(self) -> None:
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(60)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column, width in ((TOKENS, 170), (CALLS, 84), (FLAGS, 130), (HOSTS, 120)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            self.setColumnWidth(column, self._scaled(width))
        self.show_calls()
        self.sortByColumn(TOKENS, Qt.SortOrder.DescendingOrder)
