"""Activity: what hosts ask Toolcrib's gateways for, as it happens."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.activity import label_query, recent_events
from app.changes import Changes
from app.context import Db
from store.records import EventRecord
from ui.models.event_rows import EVENT, HOST, MS, RESULT, TOKENS, WHAT, WHEN, EventTable
from ui.services import Services
from ui.text import plural
from ui.theme import GAP, ROW
from ui.views.delegates import BadgeDelegate
from ui.views.elided import ElidedLabel
from ui.views.empty_state import EmptyState
from ui.views.page import Page
from ui.views.rows import as_rows

PERIOD = 500  # milliseconds between two looks into the journal while the page is in view
BATCH = 1000
_TOLD = "What hosts asked for, newest first. Arguments are never kept."
_WIDTHS = {WHEN: 84, HOST: 130, EVENT: 90, TOKENS: 84, MS: 64, RESULT: 260}


class ActivityPage(Page):
    """The journal, live; paused with Space, labelled with one press."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(services, parent)
        self.model = EventTable(self)
        self._asking = False
        self._paused = False
        self.view = self._make_view()
        self.pause = QPushButton("Pause")
        self.pause.setCheckable(True)
        self.pause.setToolTip("Stop adding rows; nothing is lost (Space)")
        self.pause.toggled.connect(self._on_pause)
        self.label = QPushButton("Label this query…")
        self.label.setToolTip("Remember that this search should have found the tool called next")
        self.label.setEnabled(False)
        self.label.clicked.connect(self._label)
        self.clear = QPushButton("Clear view")
        self.clear.clicked.connect(self.model.clear)
        self._stack = QStackedWidget()
        self.empty = self._make_empty()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._make_live())
        self.body.addWidget(self._stack, 1)
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._ask)
        self.view.selectionModel().currentRowChanged.connect(self._on_current)
        space = QShortcut(QKeySequence(Qt.Key.Key_Space), self.view)
        space.setContext(Qt.ShortcutContext.WidgetShortcut)
        space.activated.connect(self.pause.toggle)

    def main_view(self) -> QWidget:
        """The table, or the button of the empty page."""
        return self.view if self.model.rowCount() else self.empty.buttons[0]

    def showEvent(self, event: QShowEvent) -> None:
        """Look into the journal while in view."""
        super().showEvent(event)
        self._ask()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Rest while nobody looks."""
        self._timer.stop()
        super().hideEvent(event)

    def _ask(self) -> None:
        if self._asking or self._paused:
            return
        self._asking = True
        after = self.model.newest

        def read(db: Db) -> list[EventRecord]:
            return recent_events(db, after_id=after, limit=BATCH)

        self.services.tasks.ask(read, self._on_events, self._on_failed)

    def _on_events(self, events: list[EventRecord]) -> None:
        self._asking = False
        if self._paused:
            return
        at_top = self.view.verticalScrollBar().value() == 0
        self.model.add(events)
        if events and at_top:
            self.view.scrollToTop()
        self._stack.setCurrentIndex(1 if self.model.newest else 0)
        self.result.emit(plural(self.model.rowCount(), "event") if self.model.newest else "")

    def _on_failed(self, error: Exception) -> None:
        self._asking = False
        self._timer.stop()
        self.messages.say("error", str(error))

    def _on_pause(self, paused: bool) -> None:
        self._paused = paused
        self.pause.setText("Resume" if paused else "Pause")
        if not paused:
            self._ask()

    def _on_current(self) -> None:
        self.label.setEnabled(self._labelled() is not None)

    def _labelled(self) -> tuple[str, str] | None:
        """The query of the current search and the tool that was called right after it."""
        number = self.view.currentIndex().row()
        row = self.model.row(number)
        if row is None or not row.event.query:
            return None
        for later in range(number - 1, -1, -1):
            found = self.model.row(later)
            if found and found.event.session == row.event.session and found.event.kind == "call":
                return row.event.query, found.event.tool
        return None

    def _label(self) -> None:
        pair = self._labelled()
        if pair is None:
            return
        query, tool = pair
        at = self.services.ctx.clock()

        def save(db: Db) -> Changes:
            return label_query(db, query, tool, at)

        self.services.tasks.change(save)
        self.services.say(f"“{query}” should find {tool}")

    def _make_empty(self) -> EmptyState:
        empty = EmptyState(
            self.services.theme,
            icon="pulse",
            text="Nothing is served through Toolcrib yet",
            hint="Once a host goes through Toolcrib, its searches and calls appear here.",
            buttons=("Export a host through Toolcrib",),
        )
        empty.buttons[0].clicked.connect(lambda: self.services.go("hosts"))
        return empty

    def _make_live(self) -> QWidget:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(ElidedLabel(_TOLD), 1)
        for button in (self.label, self.pause, self.clear):
            row.addWidget(button)
        live = QWidget()
        column = QVBoxLayout(live)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addLayout(row)
        column.addWidget(self.view, 1)
        return live

    def _make_view(self) -> QTreeView:
        view = QTreeView()
        view.setObjectName("liveTable")
        view.setAccessibleName("Activity")
        view.setModel(self.model)
        theme = self.services.theme
        as_rows(view, theme, widths=_WIDTHS, stretched=(WHAT,))
        view.setItemDelegateForColumn(EVENT, BadgeDelegate(theme, ROW, view))
        return view
