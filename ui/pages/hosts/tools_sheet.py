"""Exactly which tools a host's model gets: to search, to copy, to save."""

from PySide6.QtCore import QModelIndex, QObject, QSortFilterProxyModel, Qt, Signal
from PySide6.QtWidgets import QTreeView, QWidget

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.host_status.report import report_of, written
from app.host_status.sizes import HostSize
from app.host_status.tool_list import GIVEN, ON_DEMAND, OVER, ListedTool, listed_tools
from store.records import THROUGH
from ui.look.text import APPROX, count
from ui.look.theme import Theme
from ui.shell.host_names import MODE_NAMES
from ui.shell.save_report import save_report
from ui.shell.services import Services
from ui.shell.tool_menu import add_tool_menu, named_tool
from ui.widgets.boxes import STRETCH, hbox, vbox
from ui.widgets.columns import Column
from ui.widgets.delegates import TextDelegate
from ui.widgets.icon_field import IconField
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.roles import FAINT, SORT
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_rows
from ui.widgets.table_tools import tools_of

NAME, TOOL, TOKENS, LATER = "Name for the model", "Tool", "Tokens ≈", "Later ≈"
STATE, WHY = "State", "Why"
_GETS = (GIVEN, ON_DEMAND, OVER)


class ToolTable(RowTable[ListedTool]):
    """One row a tool."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(NAME, lambda tool: tool.name, width=190),
                Column(TOOL, lambda tool: tool.tool_id, width=210),
                Column(
                    TOKENS,
                    lambda tool: count(tool.tokens) if tool.tokens else "",
                    lambda tool: tool.tokens,
                    width=84,
                    tip="At the first request of a session.",
                    right=True,
                ),
                Column(
                    LATER,
                    lambda tool: count(tool.later) if tool.later else "",
                    lambda tool: tool.later,
                    width=78,
                    tip="Sent when the model asks for the tool.",
                    right=True,
                ),
                Column(STATE, lambda tool: tool.state, width=110),
                Column(WHY, lambda tool: tool.why),
            ),
            parent,
        )

    def row_data(self, row: ListedTool, role: int) -> object:
        """Faint where the model does not get it; the whole reason as a tooltip."""
        if role == FAINT:
            return row.state not in _GETS
        return row.why or None if role == Qt.ItemDataRole.ToolTipRole else None


class ToolsSheet(QWidget):
    """List of the tools that one host's model gets.

    Signals: closed.
    """

    closed = Signal()

    def __init__(self, services: Services, theme: Theme) -> None:
        super().__init__()
        self._services = services
        self._size: HostSize | None = None
        self.title = theme.heading(PlainLabel(), 2)
        self.headline = PlainLabel(wrap=True, look="faint")
        self.search = named(IconField(theme), "Search the list")
        self.search.setPlaceholderText("Search names, states and reasons")
        self.model = ToolTable(self)
        self.shown = QSortFilterProxyModel(self)
        self.shown.setSortRole(SORT)
        self.shown.setSourceModel(self.model)
        self.shown.setFilterKeyColumn(-1)
        self.shown.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.view = self._make_view(theme)
        self.search.textChanged.connect(self._filter)
        self.why = PlainLabel(wrap=True, look="faint")
        self._lay_out()
        self.view.selectionModel().currentChanged.connect(lambda now, _old: self._explain(now))

    def show_host(self, size: HostSize) -> None:
        """Show a host's tools; words in the search field stay."""
        self._size = size
        self.model.replace_rows(listed_tools(size))
        some_later = any(tool.later for tool in self.model.rows)
        tools_of(self.view).hide(self.model.place(LATER), not some_later)
        self.why.clear()
        self.title.setText(f"What the model gets in {size.host}")
        self._filter(self.search.text())

    @property
    def host_id(self) -> str:
        """The host shown, "" for none."""
        return self._size.facts.id if self._size else ""

    def text(self) -> str:
        """The list as Markdown."""
        size, catalog = self._size, self._services.live.catalog
        if size is None or catalog is None:
            return ""
        return written(report_of([size]), "md", catalog.encoding)

    def _filter(self, words: str) -> None:
        self.shown.setFilterFixedString(words)
        size = self._size
        if size is None:
            return
        later = f", {count(size.sent.later)} more on demand" if size.sent.later else ""
        line = (
            f"{MODE_NAMES[size.mode]}: {plural(size.sent.count, 'tool')},"
            f" {count(size.sent.tokens)} tokens {APPROX} at the first request{later}."
        )
        if size.mode == THROUGH:
            line += f" Behind the search: {', '.join(size.behind) or 'no server'}."
        if not size.narrowed:
            line += " An earlier Toolcrib wrote this entry, which reaches every server."
        rows, every = self.shown.rowCount(), self.model.rowCount()
        shown = f" Showing {rows} of {every}." if words else ""
        self.headline.setText(f"{line}{shown}")

    def _explain(self, index: QModelIndex) -> None:
        """The whole reason of the row, which its cell may cut."""
        tool = self.model.row(self.shown.mapToSource(index).row()) if index.isValid() else None
        self.why.setText(f"{tool.name}: {tool.why}" if tool is not None and tool.why else "")

    def _copy(self) -> None:
        self._services.copy(self.text(), "as Markdown")

    def _save(self) -> None:
        if self._size is not None:
            save_report(self._services, [self._size], self)

    def _make_view(self, theme: Theme) -> QTreeView:
        view = named(QTreeView(), "Tools that the model gets", name="hostTools")
        view.setModel(self.shown)
        as_rows(view, theme, self.model.columns, delegate=TextDelegate)
        view.setSortingEnabled(True)
        view.header().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        add_tool_menu(view, self._services, self._named)
        return view

    def _named(self) -> list[CatalogTool]:
        tool = self.model.row(self.shown.mapToSource(self.view.currentIndex()).row())
        return named_tool(self._services, tool.tool_id) if tool is not None else []

    def _lay_out(self) -> None:
        copy = push_button("Copy", self._copy)
        save = push_button("Export…", self._save)
        close = push_button("Close", self.closed)
        foot = hbox(STRETCH, copy, save, close)
        vbox(self.title, self.headline, self.search, (self.view, 1), self.why, foot, inside=self)
