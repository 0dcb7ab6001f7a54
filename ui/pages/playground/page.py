"""The playground: try a query, keep a query set, compare its runs."""

from PySide6.QtCore import QSettings
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from ui.pages.playground.try_tab import TryTab
from ui.pages.query_set.compare_tab import CompareTab
from ui.pages.query_set.tab import QuerySetTab
from ui.shell.page import Page
from ui.shell.query_set import QuerySet
from ui.shell.routing_session import RoutingSession
from ui.shell.services import Services

TRY, QUERIES, COMPARE = range(3)
_TABS = ("Try a query", "Query set", "Compare runs")


class PlaygroundPage(Page):
    """Three tabs over one catalogue and one query set."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        routing = RoutingSession(services, self)
        self.queries = QuerySet(services.tasks, self)
        services.live.written.connect(self.queries.load)
        self.tried = TryTab(services, self.queries, messages=self.messages, routing=routing)
        self.query_set = QuerySetTab(
            services,
            self.queries,
            encoder=self.tried.session,
            messages=self.messages,
            routing=routing,
        )
        self.compare = CompareTab(services, self.queries)
        self.tabs = QTabBar(drawBase=False, expanding=False)
        self.tabs.setAccessibleName("Playground")
        self._stack = QStackedWidget()
        for name, tab in zip(_TABS, self._tabs, strict=True):
            self.tabs.addTab(name)
            self._stack.addWidget(tab)
        self.body.insertWidget(0, self.tabs)
        self.body.addWidget(self._stack, 1)
        self._connect()
        self._show_tabs()
        self.queries.load()

    def main_view(self) -> QWidget:
        """The main view of the tab in front."""
        return self._tabs[self._stack.currentIndex()].main_view()

    def panes(self) -> tuple[QWidget, ...]:
        """The tabs, then the panes of the one in front."""
        return (self.tabs, *self._tabs[self._stack.currentIndex()].panes())

    def focus_filter(self) -> None:
        """Ctrl+F goes to "why is X not here?"."""
        self.open_tab(TRY)
        self.tried.focus_filter()

    def primary(self) -> None:
        """The primary button of the tab in front."""
        self._tabs[self._stack.currentIndex()].primary()

    def escape(self) -> bool:
        """One step back in the first tab; in the second all rows again."""
        if self._stack.currentIndex() == TRY:
            return self.tried.escape()
        return self._stack.currentIndex() == QUERIES and self.query_set.head.show_all()

    def try_query(self, query: str) -> None:
        """Ask this query."""
        self.open_tab(TRY)
        self.tried.query.submit_query(query)

    def import_queries(self) -> None:
        """Choose a file of labelled queries."""
        self.open_tab(QUERIES)
        self.query_set.doing.import_file()

    def save(self, settings: QSettings, key: str) -> None:
        """Keep columns and splitters; a sheet that is open does not come back, nor its width."""
        self.tried.controls.sees.setChecked(False)
        super().save(settings, key)

    def open_tab(self, number: int) -> None:
        """Bring a tab to the front, also one that is hidden at first."""
        self.tabs.setTabVisible(number, True)
        self.tabs.setCurrentIndex(number)

    def showEvent(self, event: QShowEvent) -> None:
        """The first time: bring in the encoder."""
        super().showEvent(event)
        self.tried.wake()

    @property
    def _tabs(self) -> tuple[TryTab, QuerySetTab, CompareTab]:
        return self.tried, self.query_set, self.compare

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._on_tab)
        self.tried.result.connect(self.result)
        self.tried.expected.connect(self.query_set.editor.expect)
        self.tried.session.encoder_changed.connect(lambda _s, _d: self.query_set.show_encoder())
        self.query_set.try_requested.connect(self.try_query)
        self.query_set.regressed.connect(lambda number: self.badge.emit(str(number or ""), "block"))
        self.compare.run_requested.connect(lambda: self.open_tab(QUERIES))
        self.queries.changed.connect(self._show_tabs)
        self.services.advanced.changed.connect(self._show_tabs)
        live = self.services.live
        live.loaded.connect(self.queries.load)
        live.why.connect(self._on_why)

    def _show_tabs(self) -> None:
        """Query set and runs: once there is a labelled query, or with everything shown."""
        shown = self.services.advanced.on or bool(self.queries.labels)
        for number in (QUERIES, COMPARE):
            self.tabs.setTabVisible(number, shown or number == self.tabs.currentIndex())
        self.tabs.setVisible(shown or self.tabs.currentIndex() != TRY)

    def _on_tab(self, number: int) -> None:
        self._stack.setCurrentIndex(number)
        self._show_tabs()
        self.messages.clear()
        self.tried.show_encoder()
        self.result.emit("")
        if self.isVisible():
            self.main_view().setFocus()

    def _on_why(self, row_id: int) -> None:
        self.open_tab(TRY)
        self.tried.explain_tool(row_id)
