"""What a page of the window is."""

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.services import Services
from ui.theme import MARGIN
from ui.views.message_bar import MessageBar


class Page(QWidget):
    """One section of the window; subclasses add their widgets to `body`.

    Signals: result(text) for the middle of the status bar ("Showing 23 of 187 tools, 14.2k ≈");
    badge(text, tone) for the sidebar, "" for none.
    """

    result = Signal(str)
    badge = Signal(str, str)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.services = services
        self.messages = MessageBar(services.theme, self)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.body.setSpacing(MARGIN)
        self.body.addWidget(self.messages)

    def main_view(self) -> QWidget:
        """What gets the focus when the page opens."""
        return self

    def panes(self) -> tuple[QWidget, ...]:
        """What F6 goes through, in order."""
        return (self.main_view(),)

    def focus_filter(self) -> None:
        """Ctrl+F and /: give the focus to the page's filter."""

    def primary(self) -> None:
        """Ctrl+Enter: press the page's primary button."""

    def escape(self) -> bool:
        """Esc: go one step back (clear the filter ...); False when there was nothing to do."""
        return False

    def opened(self) -> None:
        """Called each time the page comes into view."""

    def try_query(self, query: str) -> None:
        """Ask a query; only the Playground can."""

    def import_queries(self) -> None:
        """Take a file of labelled queries; only the Playground can."""

    def save(self, settings: QSettings, key: str) -> None:
        """Keep splitters and columns below that key."""

    def restore(self, settings: QSettings, key: str) -> None:
        """Take splitters and columns back."""
