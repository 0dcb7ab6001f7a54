"""A small curve of a figure over runs; its words say the same."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.look.text import plain_tip
from ui.look.theme import Theme

_EDGE = 5.0  # px around the curve, so that its dots are whole


class Sparkline(QWidget):
    """Shares from 0 to 1, the oldest at the left, with two of them marked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._values: Sequence[float] = ()
        self._marked: frozenset[int] = frozenset()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        """As low as a line of text and its room."""
        return QSize(160, self.fontMetrics().height() + 16)

    def show_values(self, values: Sequence[float], marked: frozenset[int]) -> None:
        """Show these values; `marked` are places among them."""
        self._values, self._marked = tuple(values), marked
        text = ", ".join(f"{value:.2f}" for value in values)
        words = f"Recall of the runs, oldest first: {text}"
        self.setAccessibleName(words)
        self.setToolTip(plain_tip(words))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the curve, and dots at the runs that are compared."""
        if not self._values:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colors = self._theme.colors
        points = self._points()
        painter.setPen(QPen(colors.hairline, 1))
        low = self.height() - _EDGE
        painter.drawLine(QPointF(_EDGE, low), QPointF(self.width() - _EDGE, low))
        painter.setPen(QPen(colors.bar, 2))
        painter.drawPolyline(QPolygonF(points))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.bar)
        for place, point in enumerate(points):
            size = 4.0 if place in self._marked else 2.0
            painter.drawEllipse(point, size, size)
        painter.end()

    def _points(self) -> list[QPointF]:
        area = QRectF(self.rect()).adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
        step = area.width() / max(1, len(self._values) - 1)
        reach = max(max(self._values) - min(self._values), 0.05)
        least = (max(self._values) + min(self._values) - reach) / 2  # a flat curve in the middle
        return [
            QPointF(area.left() + n * step, area.bottom() - area.height() * (v - least) / reach)
            for n, v in enumerate(self._values)
        ]
