"""The playground before a query: three examples, or the way to the catalogue."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from ui.look.theme import GAP, GROUP, Theme
from ui.widgets.label import PlainLabel

_ICON = 48
_WIDTH = 440


class PlaygroundEmpty(QWidget):
    """One sentence and what to do next.

    Signals: example_chosen(query); catalog_wanted() where there are no tools; requests_wanted()
    where tools have no requests.
    """

    example_chosen = Signal(str)
    catalog_wanted = Signal()
    requests_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon, self._title = PlainLabel(), PlainLabel()
        theme.dress(self._title, 2, QFont.Weight.DemiBold)
        self._hint = PlainLabel()
        self._hint.setProperty("faint", True)
        self._examples = [QPushButton() for _ in range(3)]
        for button in self._examples:
            button.clicked.connect(self._on_example)
        self._catalog = QPushButton("Open the catalog")
        self._catalog.setProperty("primary", True)
        self._catalog.clicked.connect(self.catalog_wanted)
        self.lacking = PlainLabel(wrap=True)
        self.lacking.setObjectName("lackingRequests")
        self.lacking.setProperty("faint", True)
        self.lacking.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.write = QPushButton("Have requests written…")
        self.write.setObjectName("writeRequests")
        self.write.clicked.connect(self.requests_wanted)
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        column.addStretch(1)
        for widget in (self._icon, self._title, self._hint):
            widget.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(widget)
        column.addSpacing(GROUP - GAP)
        for button in self._examples:
            button.setMinimumWidth(_WIDTH)
        for button in (*self._examples, self._catalog):
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        column.addWidget(self.lacking)
        column.addWidget(self.write, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        self.show_lacking("")
        theme.changed.connect(self._recolor)
        self._recolor()

    @property
    def examples(self) -> tuple[str, ...]:
        """The queries offered."""
        return tuple(b.text() for b in self._examples if not b.isHidden())

    def show_examples(self, queries: Sequence[str]) -> None:
        """Offer queries to begin with."""
        self._title.setText("Try a query against your tools")
        self._hint.setText("Every tool is ranked, and each one says why it is in or out.")
        self._offer(queries, no_tools=False)

    def show_no_tools(self) -> None:
        """Say that there is nothing to try yet."""
        self._title.setText("No tools yet")
        self._hint.setText("Read the tools of your servers first; then try queries on them here.")
        self._offer((), no_tools=True)

    def show_lacking(self, sentence: str) -> None:
        """Say how many tools have no requests and what that costs; "" where all have some."""
        self.lacking.setText(sentence)
        for widget in (self.lacking, self.write):
            widget.setVisible(bool(sentence))

    def _offer(self, queries: Sequence[str], *, no_tools: bool) -> None:
        for number, button in enumerate(self._examples):
            button.setVisible(number < len(queries))
            button.setText(queries[number] if number < len(queries) else "")
        self._catalog.setVisible(no_tools)

    def _on_example(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            self.example_chosen.emit(button.text())

    def _recolor(self) -> None:
        ink, ratio = self._theme.colors.text2, self.devicePixelRatioF()
        size = self._theme.scaled(_ICON)
        self._icon.setPixmap(self._theme.icons.pixmap("flask-outline", ink, size, ratio))
