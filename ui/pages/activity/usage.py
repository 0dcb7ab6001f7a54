"""Use of tools: what was called in a period, and what hosts were given for nothing."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QTreeView, QWidget

from app.core.context import Db
from app.core.text import plural
from app.policy.coverage import ServerUse, coverage
from app.policy.usage import Usage, read_usage
from ui.look.text import count, short
from ui.pages.activity.figures import Figures
from ui.pages.activity.records import RecordsButton
from ui.pages.activity.usage_tree import NEVER, UsageTree
from ui.shell.actions import Tick, turn_off_words
from ui.shell.services import Services
from ui.shell.tool_menu import add_tool_menu
from ui.widgets.boxes import hbox, vbox
from ui.widgets.columns import place
from ui.widgets.elided import Choice, ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.rows import as_rows

PERIODS = (7, 30, 90)  # days
_USUAL = 1
_ONLY = "Without host records, only calls through Toolcrib count."
_CARDS = (
    ("calls", "Calls through Toolcrib, and those in the hosts' own records once they are read."),
    ("tools never called", "Of the tools that hosts may get now."),
    ("of tokens unused", "Share of the definitions that hosts get, of tools that were not called."),
    ("searches", "Searches for tools by models that get Toolcrib's menu."),
    ("misses", "Requests for which no tool was found, or which Toolcrib could not let through."),
    ("failed calls", "Calls that the server answered with an error, or never."),
)


class UsageTab(QWidget):
    """Figures above, servers and their tools below.

    Signals: result(text) for the status bar; tool_requested(row id) to see a tool in the Catalog;
    failed(ToolcribError).
    """

    result = Signal(str)
    tool_requested = Signal(int)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.model = UsageTree(services.theme.icons.icon, self)
        self.period = self._make_period()
        self.evidence = ElidedLabel()
        self.off = push_button("Turn off", self._turn_off)
        self.off.setToolTip("Of a server: its tools that were not called. One step, to be undone")
        self.off.setEnabled(False)
        self.records = RecordsButton(services)
        self.records.progressed.connect(self.evidence.setText)
        self.records.ended.connect(self._on_records)
        self.records.failed.connect(self.failed)
        self.figures = Figures(services.theme, _CARDS)
        self.view = self._make_view()
        self._lay_out()
        self.view.selectionModel().selectionChanged.connect(lambda *_: self._on_selected())
        self.view.doubleClicked.connect(self._on_opened)
        services.theme.changed.connect(self.model.layoutChanged)

    def refresh(self) -> None:
        """Count again, for the catalogue as it is."""
        catalog = self._services.live.catalog
        if catalog is None:
            return
        days, now = self.period.currentData(), self._services.ctx.clock()

        def read(db: Db) -> tuple[Usage, Sequence[ServerUse]]:
            usage = read_usage(db, now, days=days)
            return usage, coverage(catalog, usage)

        def show(answer: tuple[Usage, Sequence[ServerUse]]) -> None:
            self._show(*answer, now=now)

        self._services.tasks.latest(self, read, show, self.failed.emit)

    def _show(self, usage: Usage, servers: Sequence[ServerUse], *, now: float) -> None:
        self.model.show(servers, now)
        only = "" if usage.record_hosts else f" {_ONLY}"
        self.evidence.setText(f"{usage.evidence}{only}")
        tools = sum(len(use.tools) for use in servers)
        never = sum(len(use.never) for use in servers)
        tokens = sum(use.tokens for use in servers)
        unused = sum(use.unused for use in servers)
        share = f"{100 * unused / tokens:.0f} %" if tokens else "–"
        seen = usage.seen
        values = (usage.total, f"{count(never)} of {count(tools)}", share)
        figures = (*values, seen.searches, seen.misses, seen.failed)
        self.figures.show_values([v if isinstance(v, str) else count(v) for v in figures])
        self._on_selected()
        if self.isVisible():
            self.result.emit(f"{plural(never, 'tool')} never called, {short(unused)} tokens ≈")

    def _on_records(self, text: str) -> None:
        self.refresh()
        self.result.emit(text)

    def _on_selected(self) -> None:
        tools = self.model.tools_under(self.view.selectionModel().selectedRows())
        self.off.setText(turn_off_words(tools))
        self.off.setEnabled(bool(tools))

    def _on_opened(self) -> None:
        tool = self.model.tool_at(self.view.currentIndex())
        if tool is not None:
            self.tool_requested.emit(tool.row.tool.id)

    def _turn_off(self) -> None:
        tools = self.model.tools_under(self.view.selectionModel().selectedRows())
        if tools:
            self._services.undo.push(Tick(self._services.live, tools, False))

    def _make_period(self) -> QComboBox:
        period = named(Choice(rows=[(f"Last {days} days", days) for days in PERIODS]), "Period")
        period.setCurrentIndex(_USUAL)
        period.currentIndexChanged.connect(self.refresh)
        return period

    def _make_view(self) -> QTreeView:
        view = named(QTreeView(), "Use of tools", name="usageTable")
        view.setModel(self.model)
        as_rows(view, self._services.theme, self.model.columns)
        view.setRootIsDecorated(True)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.header().setSortIndicator(
            place(self.model.columns, NEVER), Qt.SortOrder.DescendingOrder
        )
        view.setSortingEnabled(True)
        add_tool_menu(
            view,
            self._services,
            lambda: self.model.tools_under(view.selectionModel().selectedRows()),
        )
        return view

    def _lay_out(self) -> None:
        label = PlainLabel("&Period", buddy=self.period)
        row = hbox(label, self.period, (self.evidence, 1), self.records, self.off)
        vbox(row, self.figures, (self.view, 1), inside=self)
