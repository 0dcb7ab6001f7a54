"""Tokens of a tool by field: one line each, with a bar and its number."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.look.text import count
from ui.look.theme import Theme
from ui.pages.catalog.details_text import Part
from ui.widgets.delegates import paint_bar

LABEL, NUMBER, LINE = 104, 52, 22  # pixels


class SplitBars(QWidget):
    """Fields that a host does not send are hatched."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_parts(self, parts: tuple[Part, ...]) -> None:
        """Show other numbers."""
        self._parts = parts
        self.setVisible(bool(parts))
        fields = [f"{p.name} {count(p.tokens)}{'' if p.counted else ' (not sent)'}" for p in parts]
        self.setAccessibleName("Tokens by field: " + ", ".join(fields))
        self.setToolTip("Hatched fields are not part of what most hosts send to the model.")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """A line per field."""
        return QSize(200, LINE * len(self._parts))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Name, bar, number."""
        painter = QPainter(self)
        colors = self._theme.colors
        largest = max((part.tokens for part in self._parts), default=0) or 1
        normal, strong = self._theme.font(), self._theme.font(0, QFont.Weight.DemiBold)
        middle = Qt.AlignmentFlag.AlignVCenter
        for row, part in enumerate(self._parts):
            line = QRectF(0, row * LINE, self.width(), LINE)
            painter.setFont(normal)
            painter.setPen(colors.text2)
            painter.drawText(line, middle, part.name)
            track = QRectF(LABEL, line.center().y() - 4, line.width() - LABEL - NUMBER, 8)
            share = part.tokens / largest
            solid, hatched = (share, 0.0) if part.counted else (0.0, share)
            paint_bar(painter, track, solid=solid, hatched=hatched, colors=colors)
            painter.setFont(strong if part.counted else normal)
            painter.setPen(colors.text if part.counted else colors.text2)
            painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, count(part.tokens))
        painter.end()
