"""Live requests of hosts: filtered, paused, labelled."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTreeView, QWidget

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from store.records import EventRecord
from ui.look.theme import GAP
from ui.pages.activity.event_details import EventDetails
from ui.pages.activity.event_rows import COLUMNS, MS, STATES, EventTable, Row
from ui.shell.query_set import save_label
from ui.shell.services import Services
from ui.shell.tool_menu import add_tool_menu, named_tool
from ui.widgets.boxes import hbox, splitter, vbox
from ui.widgets.delegates import TextDelegate
from ui.widgets.elided import ElidedLabel
from ui.widgets.filter_line import FilterLine, FilterWords
from ui.widgets.filter_query import Filter, parse
from ui.widgets.guarded import Guarded
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.rows import as_rows

_EXPLANATION = "What hosts asked for, newest first. Arguments are never kept."
_FILTER = FilterWords(
    "Filter events",
    'server:github host:cursor is:call -is:failed "pull request"',
    "Words look into event, host, tool, query and result. Keys: server, host, tool, text,"
    f" tokens (>1k, 200..800), is ({', '.join(STATES)})",
    (("Searches", "is:search"), ("Misses", "is:miss"), ("Failed", "is:failed")),
    STATES,
    ("server", "host", "tool", "text", "is", "tokens"),
)
_SAVED = tuple(parse(line, STATES) for _title, line in _FILTER.chips)


class LiveTab(QWidget):
    """The journal's newest events.

    Signals: result(text) for the status bar; resumed() when events are wanted again.
    """

    result = Signal(str)
    resumed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.model = EventTable(self)
        self.shown = _Shown(self)
        self.shown.setSourceModel(self.model)
        self.filter = FilterLine(services.theme, _FILTER, self)
        self.filter.values = self._values
        self.view = self._make_view()
        self.pause = push_button("Pause", tip="Stop adding rows; nothing is lost (Space)")
        self.pause.setCheckable(True)
        self.pause.toggled.connect(self._on_pause)
        self.label = push_button("Label this query…", self._label)
        self.label.setToolTip("Remember that this search should have found the tool called next")
        self.label.setEnabled(False)
        self.clear = push_button("Clear view", self._clear)
        self.details = EventDetails()
        self._lay_out()
        self.model.dataChanged.connect(lambda *_: self._show_details())
        self.filter.filtered.connect(self._on_filtered)
        self.filter.left.connect(self.view.setFocus)
        self.view.selectionModel().currentRowChanged.connect(self._on_current)
        space = QShortcut(QKeySequence(Qt.Key.Key_Space), self.view)
        space.setContext(Qt.ShortcutContext.WidgetShortcut)
        space.activated.connect(self.pause.toggle)

    @property
    def paused(self) -> bool:
        """True if new events have to wait."""
        return self.pause.isChecked()

    def add(self, events: Sequence[EventRecord]) -> None:
        """Put events on top, newest first; who looks at the top stays there."""
        at_top = self.view.verticalScrollBar().value() == 0
        self.model.add(events)
        if events and at_top:
            self.view.scrollToTop()
        self.show_count()

    def _values(self, key: str) -> Iterable[str]:
        """Values for a key of the filter, from the events in the table."""
        facts = (row.facts for row in self.model.rows)
        names = {"server": lambda f: f.server, "tool": lambda f: f.tool, "host": lambda f: f.hosts}
        value = names.get(key)
        return filter(None, map(value, facts)) if value is not None else ()

    def _on_pause(self, paused: bool) -> None:
        self.pause.setText("Resume" if paused else "Pause")
        if not paused:
            self.resumed.emit()

    def _on_filtered(self, wanted: Filter) -> None:
        self.shown.set_filter(wanted)
        self.show_count()

    def show_count(self) -> None:
        """Say what is in view, and what the saved filters find."""
        rows = self.model.rows
        self.filter.show_counts(
            tuple(sum(row.times for row in rows if wanted.accepts(row.facts)) for wanted in _SAVED)
        )
        every, shown = len(rows), self.shown.rowCount()
        text = plural(every, "event") if shown == every else f"Showing {shown} of {every} events"
        self.result.emit(text if every else "")

    def _clear(self) -> None:
        self.model.clear()
        self._on_current()  # a model that is emptied tells of no other row
        self.show_count()

    def _on_current(self) -> None:
        self.label.setEnabled(self._labelled() is not None)
        self._show_details()

    def _show_details(self) -> None:
        number = self.shown.mapToSource(self.view.currentIndex()).row()
        self.details.show_row(self.model.row(number))

    def _labelled(self) -> tuple[str, str] | None:
        """The query of the current search and the tool that was called right after it."""
        number = self.shown.mapToSource(self.view.currentIndex()).row()
        row = self.model.row(number)
        if row is None or not row.event.query:
            return None
        for later in range(number - 1, -1, -1):
            event_row = self.model.row(later)
            if (
                event_row
                and event_row.event.session == row.event.session
                and event_row.event.kind == "call"
            ):
                return row.event.query, event_row.event.tool
        return None

    def _label(self) -> None:
        pair = self._labelled()
        if pair is not None:
            save_label(self._services, *pair)

    def _lay_out(self) -> None:
        row = hbox((ElidedLabel(_EXPLANATION), 1), self.label, self.pause, self.clear)
        split = splitter(
            Qt.Orientation.Vertical,
            (self.view, 1),
            self.details,
            name="eventSplit",
            gap=GAP,
            sizes=(400, 170),
        )
        vbox(row, self.filter, (split, 1), inside=self)

    def _make_view(self) -> QTreeView:
        view = named(QTreeView(), "Activity", name="liveTable")
        view.setModel(self.shown)
        as_rows(view, self._services.theme, COLUMNS, delegate=TextDelegate, gone_first=(MS,))
        add_tool_menu(view, self._services, self._named)
        return view

    def _named(self) -> list[CatalogTool]:
        row = self.model.row(self.shown.mapToSource(self.view.currentIndex()).row())
        return named_tool(self._services, row.event.tool) if row is not None else []


class _Shown(Guarded, QSortFilterProxyModel):
    """The events that pass the filter, in the journal's order."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._filter = Filter()

    def set_filter(self, wanted: Filter) -> None:
        """Show only what passes."""
        self._filter = wanted
        self.invalidate()

    def filterAcceptsRow(self, row: int, _parent: QModelIndex | QPersistentModelIndex) -> bool:
        event_row = self._table.row(row)
        return isinstance(event_row, Row) and self._filter.accepts(event_row.facts)

    @property
    def _table(self) -> EventTable:
        source = self.sourceModel()
        assert isinstance(source, EventTable)
        return source
