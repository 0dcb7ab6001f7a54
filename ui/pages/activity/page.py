"""Activity: what hosts ask Toolcrib's gateways for, as it happens and summed up."""

from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from app.catalog.activity import recent_events
from app.core.context import Db
from store.records import EventRecord
from ui.pages.activity.live import LiveTab
from ui.pages.activity.records import READ
from ui.pages.activity.servers import ServersTab
from ui.pages.activity.suggestions import SuggestionsTab
from ui.pages.activity.usage import UsageTab
from ui.pages.activity.week import WeekTab
from ui.shell.page import Page
from ui.shell.services import Services
from ui.shell.tool_menu import show_in_catalog
from ui.widgets.empty_state import EmptyState

PERIOD = 500  # milliseconds between two looks into the journal while the page is in view
BATCH = 1000
LIVE, USAGE, WEEK, SUGGESTIONS, SERVERS, EMPTY = range(6)


class ActivityPage(Page):
    """Four tabs over the journal, one over what runs; without a journal, the way to one."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._asking = False
        self.live = LiveTab(services)
        self.usage = UsageTab(services)
        self.week = WeekTab(services)
        self.suggestions = SuggestionsTab(services)
        self.servers = ServersTab(services)
        self.empty = self._make_empty()
        self.tabs = QTabBar(drawBase=False, expanding=False)
        self.tabs.setAccessibleName("Activity")
        self._stack = QStackedWidget()
        tabs = (
            ("Live", self.live),
            ("Usage", self.usage),
            ("Week", self.week),
            ("Suggestions", self.suggestions),
            ("Servers", self.servers),
        )
        for name, tab in tabs:
            self.tabs.addTab(name)
            self._stack.addWidget(tab)
        self._stack.addWidget(self.empty)
        self._stack.setCurrentIndex(EMPTY)
        self.tabs.hide()
        self.body.insertWidget(0, self.tabs)
        self.body.addWidget(self._stack, 1)
        self._timer = QTimer(self, interval=PERIOD)
        self._timer.timeout.connect(self._request_events)
        self._connect()

    def main_view(self) -> QWidget:
        """The table in front, or the button of the empty page."""
        suggestions = self.suggestions.main_view()
        views = (self.live.view, self.usage.view, self.week.view, suggestions, self.servers.view)
        return (*views, self.empty.buttons[0])[self._stack.currentIndex()]

    def panes(self) -> tuple[QWidget, ...]:
        """The tabs, what filters, the table."""
        if self._stack.currentIndex() == EMPTY:
            return (self.main_view(),)
        label = self.suggestions.label
        filters = (
            self.live.filter.edit,
            self.usage.period,
            self.week.take,
            label,
            self.servers.sharing,
        )
        panes = (self.tabs, filters[self.tabs.currentIndex()], self.main_view())
        return (*panes, self.live.details) if self.live.details.isVisible() else panes

    def focus_filter(self) -> None:
        """Ctrl+F goes to the events' filter."""
        if self._stack.currentIndex() != EMPTY:
            self.tabs.setCurrentIndex(LIVE)
            self.live.filter.edit.setFocus()

    def escape(self) -> bool:
        """Clear the events' filter."""
        return self._stack.currentIndex() == LIVE and self.live.filter.clear()

    def showEvent(self, event: QShowEvent) -> None:
        """Look into the journal while in view."""
        super().showEvent(event)
        self._request_events()
        self._count()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop the updates while the page is hidden."""
        self._timer.stop()
        super().hideEvent(event)

    def _request_events(self) -> None:
        if self._asking or self.live.paused:
            return
        self._asking = True
        after = self.live.model.newest

        def read(db: Db) -> list[EventRecord]:
            return recent_events(db, after_id=after, limit=BATCH)

        self.services.tasks.request(read, self._on_events, self._on_failed)

    def _on_events(self, events: list[EventRecord]) -> None:
        self._asking = False
        if self.live.paused or not events:
            if self._stack.currentIndex() == EMPTY and self.services.ctx.settings.host_records:
                self._open_usage()
            return
        self.live.add(events)
        if self._stack.currentIndex() == EMPTY:
            self.tabs.show()
            waited = self.empty.buttons[0].hasFocus()
            self._open(self.tabs.currentIndex())
            if waited:
                self.main_view().setFocus()
        else:
            self._count()

    def _on_failed(self, error: Exception) -> None:
        self._asking = False
        self._timer.stop()
        self.messages.show_message("error", str(error))

    def _on_tab(self, number: int) -> None:
        self._open(number)
        if self.isVisible():
            self.main_view().setFocus()

    def _open(self, number: int) -> None:
        self._stack.setCurrentIndex(number)
        self.result.emit("")
        if number == LIVE:
            self.live.show_count()
        self._count()

    def _count(self) -> None:
        """Count the use of tools, or suggestions, anew, if the page is visible."""
        if not self.isVisible():
            return
        if self._stack.currentIndex() == USAGE:
            self.usage.refresh()
        elif self._stack.currentIndex() == WEEK:
            self.week.refresh()
        elif self._stack.currentIndex() == SUGGESTIONS:
            self.suggestions.refresh()

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._on_tab)
        self.live.result.connect(self._show_result)
        self.live.resumed.connect(self._request_events)
        for tab in (self.usage, self.week, self.suggestions, self.servers):
            tab.result.connect(self._show_result)
            tab.failed.connect(self.messages.error)
        self.services.live.altered.connect(self._count)
        self.usage.tool_requested.connect(partial(show_in_catalog, self.services))

    def _open_usage(self) -> None:
        """Open Usage without a journal: it counts the hosts' records, too."""
        self.tabs.show()
        self.tabs.setCurrentIndex(USAGE)
        self._open(USAGE)

    def _read_records(self) -> None:
        self._open_usage()
        self.usage.records.click()

    def _show_result(self, text: str) -> None:
        if self.sender() is self._stack.currentWidget():
            self.result.emit(text)

    def _make_empty(self) -> EmptyState:
        return EmptyState(
            self.services.theme,
            icon="pulse",
            text="Nothing is served through Toolcrib yet",
            hint="Once a host goes through Toolcrib, its searches and calls appear here.\n"
            "Calls that hosts made before are in their own records.",
            buttons=(
                ("Export a host through Toolcrib", lambda: self.services.open_page("hosts")),
                (READ, self._read_records),
            ),
        )
