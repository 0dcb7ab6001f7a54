"""Two panes side by side that scroll and fold together."""

from collections.abc import Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from ui.look.theme import Theme
from ui.widgets.boxes import hbox
from ui.widgets.diff_pane import DiffPane
from ui.widgets.diff_rows import DiffRow


class DiffView(QWidget):
    """A file before and after a write, side by side."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.before = DiffPane(sign="-", theme=theme, parent=self)
        self.after = DiffPane(sign="+", theme=theme, parent=self)
        self.before.setObjectName("diffBefore")
        self.after.setObjectName("diffAfter")
        self.before.setAccessibleName("File now")
        self.after.setAccessibleName("File after writing")
        self._rows: Sequence[DiffRow] = ()
        self._opened: frozenset[int] = frozenset()
        self._wraps = True
        self._columns = 0  # that the lines shown were cut to
        hbox(self.before, self.after, inside=self)
        for pane in (self.before, self.after):
            pane.fold_toggled.connect(self._open)
        _couple(self.before.verticalScrollBar(), self.after.verticalScrollBar())
        _couple(self.before.horizontalScrollBar(), self.after.horizontalScrollBar())

    def show_rows(self, rows: Sequence[DiffRow]) -> None:
        """Show a diff from its top, folded."""
        self._rows, self._opened = rows, frozenset()
        self._fill()

    @property
    def wraps(self) -> bool:
        """True if long lines are cut to the width, alike on both sides."""
        return self._wraps

    def set_wraps(self, wraps: bool) -> None:
        """Cut long lines to the width, or leave them whole and scroll."""
        self._wraps = wraps
        self._refill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the lines to the new width."""
        super().resizeEvent(event)
        if self._wraps and self._fitting() != self._columns:
            self._refill()

    def _open(self, number: int) -> None:
        self._opened |= {number}
        self._refill()

    def _refill(self) -> None:
        place = self.before.verticalScrollBar().value()
        self._fill()
        self.before.verticalScrollBar().setValue(place)

    def _fitting(self) -> int:
        return min(pane.columns() for pane in (self.before, self.after))

    def _fill(self) -> None:
        self._columns = self._fitting() if self._wraps else 0
        for pane in (self.before, self.after):
            pane.show_rows(self._rows, self._opened, self._columns)


def _couple(one: QScrollBar, other: QScrollBar) -> None:
    one.valueChanged.connect(other.setValue)
    other.valueChanged.connect(one.setValue)
