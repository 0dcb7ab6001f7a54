"""The playground before a query: three examples, or the way to the catalogue."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from ui.look.theme import GAP, GROUP, Theme
from ui.widgets.boxes import STRETCH, STYLE, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

_ICON = 48
_WIDTH = 440
_BEGIN = "Every tool is ranked, and each one says why it is in or out."
_UNKNOWN = "No word of this query is known"
_REWORD = "So no tool was ranked. Say in other words what a tool should do, as in these examples."


class PlaygroundEmpty(QWidget):
    """One sentence and what to do next.

    Signals: example_chosen(query).
    """

    example_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._icon, self._title = PlainLabel(), PlainLabel()
        theme.put_icon(self._icon, "flask-outline", size=_ICON)
        theme.heading(self._title, 2)
        self._hint = PlainLabel(look="faint")
        self._examples = [push_button() for _ in range(3)]
        for button in self._examples:
            button.clicked.connect(partial(self._choose, button))
        self.catalog = push_button("Open the catalog", look="primary")
        self.lacking = PlainLabel(wrap=True, look="faint", name="lackingRequests")
        self.lacking.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.write = push_button("Have requests written…", name="writeRequests")
        middle = Qt.AlignmentFlag.AlignHCenter
        for widget in (self._icon, self._title, self._hint):
            widget.setAlignment(middle)
        for button in self._examples:
            button.setMinimumWidth(_WIDTH)
        vbox(
            STRETCH,
            self._icon,
            self._title,
            self._hint,
            GROUP - GAP,
            *((button, middle) for button in (*self._examples, self.catalog)),
            STRETCH,
            self.lacking,
            (self.write, middle),
            STRETCH,
            inside=self,
            margins=STYLE,
        )
        self.show_lacking("")

    @property
    def examples(self) -> tuple[str, ...]:
        """The queries offered."""
        return tuple(b.text() for b in self._examples if not b.isHidden())

    def show_examples(self, queries: Sequence[str]) -> None:
        """Offer queries to begin with."""
        self.show_unranked(False)
        self._offer(queries, no_tools=False)

    def show_unranked(self, unranked: bool) -> None:
        """Say that the last query has no known word, or how to begin."""
        self._title.setText(_UNKNOWN if unranked else "Try a query against your tools")
        self._hint.setText(_REWORD if unranked else _BEGIN)

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
        self.catalog.setVisible(no_tools)

    def _choose(self, button: QPushButton, _checked: bool) -> None:
        self.example_chosen.emit(button.text())
