"""Base class of the window's pages."""

from collections.abc import Iterator

from PySide6.QtCore import QByteArray, QSettings, Signal
from PySide6.QtWidgets import QCheckBox, QHeaderView, QSplitter, QTreeView, QWidget

from ui.look.theme import MARGIN
from ui.shell.services import Services
from ui.widgets.boxes import vbox
from ui.widgets.filter_line import FilterLine
from ui.widgets.message_bar import MessageBar
from ui.widgets.table_tools import has_tools, tools_of

KEPT_CHOICES = ("wrapLines",)  # check boxes that say how, not what


class Page(QWidget):
    """One section of the window; subclasses add their widgets to `body`.

    Signals: result(text) for the middle of the status bar ("Showing 23 of 187 tools, 14.2k ≈");
    badge(text, tone) for the sidebar, "" for none.
    """

    result = Signal(str)
    badge = Signal(str, str)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.services = services
        self.messages = MessageBar(services.theme, self)
        self.body = vbox(self.messages, inside=self, margins=MARGIN, gap=MARGIN)

    def main_view(self) -> QWidget:
        """Widget that gets the focus when the page opens."""
        return self

    def panes(self) -> tuple[QWidget, ...]:
        """Widgets that F6 moves between, in order."""
        return (self.main_view(),)

    def focus_filter(self) -> None:
        """Ctrl+F and /: give the focus to the page's filter."""

    def primary(self) -> None:
        """Ctrl+Enter: press the page's primary button."""

    def escape(self) -> bool:
        """Esc: go one step back (clear the filter ...); False when there was nothing to do."""
        return False

    def refresh(self) -> None:
        """F5: read again what the page shows."""
        self.services.live.load()

    def opened(self) -> None:
        """Called each time the page comes into view."""

    def try_query(self, query: str) -> None:
        """Ask a query; only the Playground can."""

    def import_queries(self) -> None:
        """Take a file of labelled queries; only the Playground can."""

    def save(self, settings: QSettings, key: str) -> None:
        """Keep columns and splitters, below that key."""
        settings.setValue(f"{key}/zoom", self.services.theme.zoom)
        for name, part in self._kept():
            settings.setValue(f"{key}/{name}", part.saveState())
        for view in filter(has_tools, self._tables()):
            settings.setValue(f"{key}/{view.objectName()}-columns", tools_of(view).state())
        for line in self.findChildren(FilterLine):
            settings.setValue(f"{key}/filters", "\n".join(line.kept))
        for box in self._choices():
            settings.setValue(f"{key}/{box.objectName()}", box.isChecked())

    def restore(self, settings: QSettings, key: str) -> None:
        """Take columns and splitters back, columns as wide as the present text size wants."""
        zoom = settings.value(f"{key}/zoom")
        for name, part in self._kept():
            state = settings.value(f"{key}/{name}")
            if isinstance(state, QByteArray):
                part.restoreState(state)
                if isinstance(part, QHeaderView) and str(zoom).isdecimal():
                    self.services.theme.widen(part, int(str(zoom)))
        for view in filter(has_tools, self._tables()):
            chosen = settings.value(f"{key}/{view.objectName()}-columns", "")
            tools_of(view).restore(str(chosen))
        for line in self.findChildren(FilterLine):
            lines = str(settings.value(f"{key}/filters", "") or "")
            line.kept[:] = list(filter(None, lines.split("\n")))
        for box in self._choices():
            kept = settings.value(f"{key}/{box.objectName()}", box.isChecked(), type=bool)
            box.setChecked(kept is True)

    def _kept(self) -> Iterator[tuple[str, QHeaderView | QSplitter]]:
        """Those that have a name; a table with other columns than before begins anew."""
        for view in self._tables():
            yield f"{view.objectName()}{view.header().count()}", view.header()
        for splitter in self.findChildren(QSplitter):
            if splitter.objectName():
                yield splitter.objectName(), splitter

    def _choices(self) -> list[QCheckBox]:
        """Boxes for the way something is shown, each kept under a name of its own."""
        return [box for box in self.findChildren(QCheckBox) if box.objectName() in KEPT_CHOICES]

    def _tables(self) -> list[QTreeView]:
        return [view for view in self.findChildren(QTreeView) if view.objectName()]
