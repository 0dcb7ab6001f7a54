"""The query field: a line with history."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent

from ui.look.theme import Theme
from ui.widgets.icon_field import IconField
from ui.widgets.named import named

IDLE_MS = 300  # how long the typing must rest before a query runs by itself
KEPT = 50


class QueryField(IconField):
    """Field for a query.

    Signals: submitted(query, at_once) on Enter (at once) and after the typing rests.
    """

    submitted = Signal(str, bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        named(self, "Query", name="playQuery", tip="Up and Down go through earlier queries.")
        self.setPlaceholderText("What would you ask the model to do?")
        self._history: list[str] = []
        self._place = 0
        self._idle = QTimer(self, interval=IDLE_MS, singleShot=True)
        self._idle.timeout.connect(lambda: self.submitted.emit(self.text().strip(), False))
        self.textEdited.connect(lambda: self._idle.start())
        self.returnPressed.connect(self.submit)

    @property
    def history(self) -> tuple[str, ...]:
        """Queries asked so far, newest last."""
        return tuple(self._history)

    def submit(self) -> None:
        """Submit the field's text now."""
        self._idle.stop()
        query = self.text().strip()
        if not query:
            return
        if query in self._history:
            self._history.remove(query)
        self._history = [*self._history, query][-KEPT:]
        self._place = len(self._history)
        self.submitted.emit(query, True)

    def submit_query(self, query: str) -> None:
        """Put a query in the field and ask it."""
        self.setText(query)
        self.submit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down bring back earlier queries."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        place = min(max(self._place + step, 0), len(self._history))
        if place != self._place:
            self._place = place
            self.setText(self._history[place] if place < len(self._history) else "")
            self._idle.start()
