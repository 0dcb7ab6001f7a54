"""The legend of the calibration plot: a line as it is drawn, and its words."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.look.theme import Theme

_SAMPLE, _SPACE = 22, 16  # px of a line, and between entries
_SOLID, _DASHED = Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine
_DOTTED = Qt.PenStyle.DotLine
ENTRIES = (  # name, what it says, ink, line
    ("Recall", ": expected tools found", "bar", _SOLID),
    ("Precision", ": shown tools expected", "unused", _DASHED),
    ("Recommended", "", "recommended", _DOTTED),
    ("Now", "", "text", _SOLID),
)


class PlotLegend(QWidget):
    """One line of entries; never wider than its words. A brief one has the names alone."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._brief = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend")
        self.setAccessibleDescription(", ".join(name + more for name, more, _, _ in ENTRIES))
        self.setToolTip("Shaded: where the true value lies with 95 % certainty (bootstrap).")
        theme.changed.connect(self.update)

    def fit(self, room: int) -> None:
        """Be brief where the whole legend is wider than that."""
        brief = self._width(brief=False) > room
        if brief != self._brief:
            self._brief = brief
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """As wide as its entries."""
        return QSize(self._width(brief=self._brief), self.fontMetrics().height() + 4)

    def _width(self, *, brief: bool) -> int:
        width = self.fontMetrics().horizontalAdvance
        words = sum(width(_words(name, more, brief)) for name, more, _, _ in ENTRIES)
        return words + len(ENTRIES) * (_SAMPLE + 6) + (len(ENTRIES) - 1) * _SPACE + 4

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the samples and the words."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics, middle, left = self.fontMetrics(), self.height() / 2, 0
        for name, more, role, style in ENTRIES:
            words = _words(name, more, self._brief)
            painter.setPen(QPen(self._ink(role), 2, style))
            painter.drawLine(QPointF(left, middle), QPointF(left + _SAMPLE, middle))
            left += _SAMPLE + 6
            painter.setPen(self._theme.colors.text2)
            painter.drawText(QPointF(left, middle + metrics.ascent() / 2 - 1), words)
            left += metrics.horizontalAdvance(words) + _SPACE
        painter.end()

    def _ink(self, role: str) -> QColor:
        colors = self._theme.colors
        inks = {"bar": colors.bar, "unused": colors.unused, "text": colors.text}
        return inks.get(role, colors.passed.ink)


def _words(name: str, more: str, brief: bool) -> str:
    return name if brief else name + more
