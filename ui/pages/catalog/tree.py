"""The tree of servers and tools."""

from functools import partial

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QLabel, QMenu, QTreeView, QVBoxLayout

from app.catalog.catalog import CatalogTool
from store.records import EntryRecord, ServerRecord
from ui.look.text import in_menu
from ui.look.theme import Theme
from ui.pages.catalog.sign_in_work import can_sign_in, can_sign_out
from ui.pages.catalog.tree_cells import CALLS, FLAGS, HOSTS, NAME, TOKENS
from ui.pages.catalog.tree_model import CatalogTree
from ui.shell.host_names import entry_place, host_entries
from ui.widgets.columns import place
from ui.widgets.delegates import NUMBER
from ui.widgets.filter_query import IS
from ui.widgets.rows import as_rows
from ui.widgets.table_tools import tools_of

NARROW_BELOW = 680  # pixels
NAME_LEAST = 220  # pixels that a name has at least, before bars and badges
FLAG_LEAST = 90  # pixels
OPEN_BELOW = 200  # matches
NOTHING = "No tool matches. Press Esc to clear the filter."


class CatalogTreeView(QTreeView):
    """Check boxes, bars and badges; single letters act here only.

    Signals: toggle_requested(list of CatalogTool, on) for Space; pin_requested(list);
    why_requested(tool); picked() when the selection changed; filter_requested() for "/";
    server_filter_requested(filter line); term_requested(term to add to it);
    details_requested() for Enter; sign_in_requested(server);
    sign_out_requested(server); summary_requested(CatalogTool) and requests_wanted(CatalogTool) to
    edit what it is found by; conditions_wanted(CatalogTool); call_requested(CatalogTool) for T.
    """

    toggle_requested = Signal(object, bool)
    pin_requested = Signal(object)
    why_requested = Signal(object)
    picked = Signal()
    filter_requested = Signal()
    server_filter_requested = Signal(str)
    term_requested = Signal(str)
    details_requested = Signal()
    sign_in_requested = Signal(object)
    summary_requested = Signal(object)
    requests_wanted = Signal(object)
    conditions_wanted = Signal(object)
    call_requested = Signal(object)
    edit_requested = Signal(bool)  # True: a duplicate
    disable_requested = Signal(object)  # ServerRecord, to be enabled where it is disabled
    entry_requested = Signal(object, str)  # EntryRecord, kind of change (app.export.plan)
    remove_requested = Signal(object)  # ServerRecord
    fit_requested = Signal(object)  # ServerRecord
    update_requested = Signal(object)  # ServerRecord
    sign_out_requested = Signal(object)

    def __init__(self, theme: Theme, model: CatalogTree) -> None:
        super().__init__()
        self.setObjectName("catalogTree")
        self.setAccessibleName("Servers and tools")
        self.setMinimumWidth(320)
        self._tree = model
        self._open: set[str] = set()  # servers that the user opened, while no filter is at work
        self._restoring = False
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSortingEnabled(True)
        self.setModel(model)
        as_rows(self, theme, model.columns)
        self.setRootIsDecorated(True)
        self.header().setMinimumSectionSize(60)
        self._theme, self._zoom, self._scaled = theme, theme.zoom, theme.scaled
        # columns that gave some to the names: their width before and since, in thousands of pixels
        # at the usual size
        self._taken: dict[int, tuple[float, float]] = {}
        theme.changed.connect(self._on_theme)
        self.show_calls()
        self.sortByColumn(place(model.columns, TOKENS), Qt.SortOrder.DescendingOrder)
        self.nothing = QLabel('No tool matches. <a href="#">Clear filter</a>', self.viewport())
        self.nothing.setTextFormat(Qt.TextFormat.RichText)  # the link
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.hide()
        QVBoxLayout(self.viewport()).addWidget(self.nothing)
        self.selectionModel().selectionChanged.connect(lambda: self.picked.emit())
        self.expanded.connect(lambda index: self._remember(index.row(), True))
        self.collapsed.connect(lambda index: self._remember(index.row(), False))

    def selected_tools(self) -> list[CatalogTool]:
        """The tools of the selected rows; a server's row gives all of its tools."""
        rows = self.selectionModel().selectedRows()
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
        """Space, P, W, T, / and Enter; the rest is Qt's."""
        tools = self.selected_tools()
        if event.key() == Qt.Key.Key_Space:
            self.toggle()
        elif event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_P and tools:
            self.pin_requested.emit(tools)
        elif event.key() == Qt.Key.Key_W and self._tree.tool_at(self.currentIndex()):
            self.why_requested.emit(self._tree.tool_at(self.currentIndex()))
        elif event.key() == Qt.Key.Key_T and self._tree.tool_at(self.currentIndex()):
            self.call_requested.emit(self._tree.tool_at(self.currentIndex()))
        elif event.key() == Qt.Key.Key_Slash:
            self.filter_requested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.details_requested.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Menu of actions on the selected tools."""
        tools = self.selected_tools()
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._add_sign_in(menu)
        if tools:
            self._add_for_tools(menu, tools)
            self._add_filters(menu, tools, self.columnAt(event.pos().x()))
        if menu.isEmpty():
            menu.deleteLater()
        else:
            menu.popup(event.globalPos())

    def _add_sign_in(self, menu: QMenu) -> None:
        """Add the actions of a sign-in, when the server's row or its problem's is the current."""
        index = self.currentIndex()
        server = None if self._tree.tool_at(index) else self._tree.server_at(index)
        if server is None:
            return
        if can_sign_in(server):
            menu.addAction("&Sign in…", lambda: self.sign_in_requested.emit(server))
        elif can_sign_out(server):
            menu.addAction("&Sign in again…", lambda: self.sign_in_requested.emit(server))
            menu.addAction("Sign o&ut", lambda: self.sign_out_requested.emit(server))
        if self._tree.tools_under([index]):
            menu.addAction("Fit in bud&get…", lambda: self.fit_requested.emit(server))
        menu.addAction("&Update server…", lambda: self.update_requested.emit(server))
        menu.addAction("&Edit server…", lambda: self.edit_requested.emit(False))
        menu.addAction("&Duplicate server…", lambda: self.edit_requested.emit(True))
        text = "E&nable in Toolcrib" if server.disabled else "Disa&ble in Toolcrib"
        menu.addAction(text, lambda: self.disable_requested.emit(server))
        menu.addAction("Remo&ve server…", lambda: self.remove_requested.emit(server))
        for entry in host_entries(server):
            self._add_entry(menu, entry, server)

    def _add_entry(self, menu: QMenu, entry: EntryRecord, server: ServerRecord) -> None:
        """Add the actions on the entry in the host's own file."""
        inside = menu.addMenu(in_menu(f"In {entry_place(server, entry)}"))
        switch = ("E&nable…", "enable") if entry.disabled else ("&Disable…", "disable")
        for text, kind in (("&Edit or rename…", "edit"), switch, ("&Remove…", "remove")):
            inside.addAction(text, partial(self.entry_requested.emit, entry, kind))

    def _add_for_tools(self, menu: QMenu, tools: list[CatalogTool]) -> None:
        on, pinned = all(t.on for t in tools), all(t.pinned for t in tools)
        menu.addAction("Turn &off" if on else "Turn &on", self.toggle)
        menu.addAction("Un&pin" if pinned else "&Pin", lambda: self.pin_requested.emit(tools))
        tool = self._tree.tool_at(self.currentIndex())
        if tool is not None:
            menu.addAction("&Why is it in or out?", lambda: self.why_requested.emit(tool))
            menu.addAction("&Call by hand…", lambda: self.call_requested.emit(tool))
            menu.addAction("&Edit summary…", lambda: self.summary_requested.emit(tool))
            menu.addAction("Edit &requests…", lambda: self.requests_wanted.emit(tool))
            menu.addAction("Co&nditions…", lambda: self.conditions_wanted.emit(tool))

    def _add_filters(self, menu: QMenu, tools: list[CatalogTool], column: int) -> None:
        """Add filters by the value under the mouse, and by the server."""
        tool = self._tree.tool_at(self.currentIndex())
        cell = self.currentIndex().siblingAtColumn(max(0, column))
        server = f'server:"{tools[0].server.name}"'
        term = filter_term(self._tree.columns[cell.column()].title, str(cell.data() or ""), tool)
        if term:
            shown = term.replace("&", "&&")
            menu.addAction(f"Show &only {shown}", lambda: self.term_requested.emit(term))
            menu.addAction(f"&Hide {shown}", lambda: self.term_requested.emit(f"-{term}"))
        menu.addAction("&Filter by this server", lambda: self.server_filter_requested.emit(server))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Names keep their room: a narrow tree has no column that yields, then no bars."""
        super().resizeEvent(event)
        if self._zoom == self._theme.zoom:  # else the theme has not widened the columns yet
            self._fit_columns()

    def _on_theme(self) -> None:
        self._zoom = self._theme.zoom
        self._fit_columns()

    def give_back(self) -> None:
        """Columns as wide as they were before names took some of it."""
        thousand = self._scaled(1000)
        for number, (before, since) in self._taken.items():
            if self._is_as_wide(number, since * thousand):  # else the user has chosen another
                self.setColumnWidth(number, round(before * thousand))
        self._taken.clear()

    def _fit_columns(self) -> None:
        width, scaled = self.viewport().width(), self._scaled
        for number, column in enumerate(self._tree.columns):
            if column.yields:
                tools_of(self).hide(number, width < scaled(NARROW_BELOW))
        for title, least in ((TOKENS, NUMBER), (FLAGS, FLAG_LEAST)):
            self._fit_column(place(self._tree.columns, title), scaled(least))

    def _fit_column(self, number: int, least: int) -> None:
        """Take from a column what names lack; give back what it had, where there is room again."""
        thousand = self._scaled(1000)
        usual = self._scaled(self._tree.columns[number].width)
        _, since = self._taken.pop(number, (0.0, usual / thousand))
        if not self._is_as_wide(number, since * thousand):
            return  # the user has chosen a width
        self.setColumnWidth(number, usual)
        lacking = self._scaled(NAME_LEAST) - self.columnWidth(place(self._tree.columns, NAME))
        if lacking > 0 and usual > least:
            self.setColumnWidth(number, max(least, usual - lacking))
            self._taken[number] = usual / thousand, self.columnWidth(number) / thousand

    def _is_as_wide(self, number: int, width: float) -> bool:
        return abs(self.columnWidth(number) - width) <= 1

    def show_calls(self) -> None:
        """Show the column of calls once a call was recorded; before that it would be empty."""
        tools_of(self).hide(place(self._tree.columns, CALLS), not self._tree.usage.calls)
        self._fit_columns()  # names have as much less as it takes

    def toggle(self) -> None:
        """All selected tools take the state of the current one, turned round."""
        tools = self.selected_tools()
        current = self._tree.tools_under([self.currentIndex()]) if self._any() else []
        if tools and current:
            on = not all(tool.on for tool in current)
            self.toggle_requested.emit([t for t in tools if t.on != on], on)

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


def filter_term(title: str, text: str, tool: CatalogTool | None) -> str:
    """The filter term of a cell, "" where there is none: `tokens:942`, `host:"Cursor"`."""
    if title == TOKENS and tool is not None:
        return f"tokens:{tool.cost}"
    if title == CALLS and tool is not None and text:
        return "calls:0" if text == "never" else f"calls:{text.replace(',', '')}"
    if title == NAME and tool is not None:
        return f'tool:"{tool.tool.name}"'
    if title == HOSTS and text:
        return f'host:"{text.split(", ")[0]}"'
    word = text.split(" ")[0].lower()
    return f"is:{word}" if title == FLAGS and word in IS else ""
