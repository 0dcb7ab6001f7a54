"""Holds the place of the score strip; the plot library loads when the page is first seen."""

from collections.abc import Set
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ui.look.theme import Theme
from ui.shell.answer import Answer
from ui.widgets.boxes import vbox

if TYPE_CHECKING:
    from ui.pages.playground.score_strip import ScoreStrip

HEIGHT, AXIS = 104, 24  # pixels; only what is below the axis grows with the text


class StripHolder(QWidget):
    """The score strip, once it is built.

    Signals: moved(value) during a drag; settled(value) at its end; picked(tool id).
    """

    moved = Signal(float)
    settled = Signal(float)
    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.plot: ScoreStrip | None = None
        self._restyle()
        self._layout = vbox(inside=self)

    def build(self) -> None:
        """Import pyqtgraph (0.4 s of CPU, with numpy) and make the plot, once."""
        if self.plot is not None:
            return
        from ui.pages.playground.score_strip import ScoreStrip

        plot = self.plot = ScoreStrip(self._theme.colors, self)
        plot.moved.connect(self.moved)
        plot.settled.connect(lambda _old, new: self.settled.emit(new))
        plot.picked.connect(self.picked)
        self._theme.changed.connect(self._restyle)
        self._layout.addWidget(plot)
        self._restyle()

    def show_answer(self, answer: Answer, expected: Set[str]) -> None:
        """Show an answer's marks and its threshold; `expected` are tool ids of labels."""
        if self.plot is None:
            return
        shown = len(answer.ranked.shown)
        out = len(answer.ranked.tools) - shown
        label = f" {answer.line.value:.2f}   {shown} in · {out} out "
        self.plot.show_marks(answer.marks(expected), answer.line.value, label)

    def _restyle(self) -> None:
        self.setFixedHeight(HEIGHT - AXIS + self._theme.scaled(AXIS))
        if self.plot is not None:
            self.plot.set_colors(self._theme.colors)
            self.plot.set_font(self._theme.font(-1))
