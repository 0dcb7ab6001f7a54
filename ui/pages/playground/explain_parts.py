"""Rows of the explain card: a gate with its value, a score part with its bar."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from ui.look.theme import Theme
from ui.shell.gate_lines import FAILED, PASSED, GateLine
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel

_ICONS = {PASSED: ("check-circle", "passed"), FAILED: ("close-octagon", "block")}
_OTHER = ("minus-circle-outline", "neutral")
_ICON = 16


class GateRow(QWidget):
    """One gate: tick, cross or dash, its name, its value."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._icon, self._title, self._value = PlainLabel(), PlainLabel(), ElidedLabel()
        self._value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._value.setProperty("faint", True)
        hbox(self._icon, self._title, (self._value, 1), inside=self, gap=8)

    def show_gate(self, line: GateLine) -> None:
        """Show a gate; the sign, the weight and the words all say whether it failed."""
        name, role = _ICONS.get(line.state, _OTHER)
        self._theme.put_icon(self._icon, name, role)
        weight = QFont.Weight.DemiBold if line.state == FAILED else QFont.Weight.Normal
        self._theme.dress(self._title, weight=weight)
        self._title.setText(line.title)
        self._value.setText(line.value or "not asked")
        self.setAccessibleName(f"{line.title}: {line.state}, {line.value}")


class PartBar(QWidget):
    """A share from -1 to 1 as a bar: what a part takes is drawn as an outline."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._share = 0.0
        self.setFixedHeight(8)
        self.setMinimumWidth(48)

    def set_share(self, share: float) -> None:
        """Show this share."""
        self._share = min(1.0, max(-1.0, share))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        """The track and the bar on it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        room = QRectF(self.rect())
        painter.setBrush(self._theme.colors.track)
        painter.drawRoundedRect(room, 3, 3)
        room.setWidth(room.width() * abs(self._share))
        painter.setBrush(self._theme.colors.bar)
        if self._share < 0:
            painter.setPen(self._theme.colors.bar)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            room.adjust(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(room, 3, 3)
        painter.end()


class PartRows(QWidget):
    """The parts of a score, with their sum."""

    ROWS = 6

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._cells = [(PlainLabel(), PartBar(theme), PlainLabel()) for _ in range(self.ROWS)]
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for row, cells in enumerate(self._cells):
            cells[2].setAlignment(Qt.AlignmentFlag.AlignRight)
            for column, cell in enumerate(cells):
                grid.addWidget(cell, row, column)

    def show_parts(self, parts: tuple[tuple[str, float], ...], score: float) -> None:
        """Show the parts that are not nothing, and their sum."""
        figures = [*rounded(parts, score), ("Score", score)]
        for number, (name, bar, value) in enumerate(self._cells):
            used = number < len(figures)
            for cell in (name, bar, value):
                cell.setVisible(used)
            if used:
                name.setText(figures[number][0])
                bar.set_share(figures[number][1])
                value.setText(_figure(figures[number][1]))
        self.setAccessibleName(", ".join(f"{name} {_figure(part)}" for name, part in figures))


def _figure(part: float) -> str:
    """Two digits, with a minus sign as wide as the digits."""
    return f"{part:.2f}".replace("-", "\u2212")


def rounded(parts: tuple[tuple[str, float], ...], score: float) -> list[tuple[str, float]]:
    """Parts to two digits that still sum to the score; what is left goes to the largest."""
    figures = {name: round(part, 2) for name, part in parts if part}
    if figures:
        largest = max(figures, key=lambda name: figures[name])
        figures[largest] = round(figures[largest] + round(score, 2) - sum(figures.values()), 2)
    return list(figures.items())
