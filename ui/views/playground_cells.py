"""Cells of the candidates: the verdict as a badge, the score as a bar with the threshold on it."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.routing.ranked import RankedTool
from ui.models.candidates import HELD, INSIDE, RANKED_ROLE, verdict
from ui.models.gate_lines import Line
from ui.theme import ROW, Theme
from ui.views.badge import BadgeText, paint_badge
from ui.views.delegates import Index, RowDelegate

BADGES = {
    INSIDE: BadgeText("In", "passed", "check-circle"),
    HELD: BadgeText("Held", "block", "close-octagon", solid=True),
}
_OUT = BadgeText("Out", "neutral", "minus-circle-outline")
_NUMBER = 44  # px for the score's figure


class LeanDelegate(RowDelegate):
    """Text cells that ask the model twice a cell, not ten times: a drag repaints them all."""

    def __init__(
        self,
        theme: Theme,
        parent: object | None = None,
        *,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(theme, ROW, parent)
        self._elide = elide

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw background and text."""
        paint_panel(painter, option)
        area = option.rect.adjusted(5, 0, -5, 0)
        text = option.fontMetrics.elidedText(index.data() or "", self._elide, area.width())
        painter.setPen(self.theme.colors.text)
        painter.drawText(area, index.data(Qt.ItemDataRole.TextAlignmentRole), text)


def paint_panel(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """A cell's background, selected or not."""
    panel = QStyle.PrimitiveElement.PE_PanelItemViewItem
    option.widget.style().drawPrimitive(panel, option, painter, option.widget)


class VerdictDelegate(RowDelegate):
    """In, Out or Held as a badge."""

    def __init__(self, theme: Theme, parent: object | None = None) -> None:
        super().__init__(theme, ROW, parent)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the badge."""
        paint_panel(painter, option)
        badge = BADGES.get(index.data(Qt.ItemDataRole.DisplayRole), _OUT)
        paint_badge(painter, option.rect.adjusted(6, 0, -2, 0), badge, self.theme)


class ScoreDelegate(RowDelegate):
    """The score's bar, the threshold as a tick on it, the figure at its right."""

    def __init__(self, theme: Theme, parent: object | None = None) -> None:
        super().__init__(theme, ROW, parent)
        self.line = Line(0.0, by_meaning=False)
        self._font = QFont()
        theme.changed.connect(self._take_font)
        self._take_font()

    def _take_font(self) -> None:
        self._font = self.theme.font(0, QFont.Weight.DemiBold)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw bar, tick and figure."""
        paint_panel(painter, option)
        tool = index.data(RANKED_ROLE)
        if not isinstance(tool, RankedTool):
            return
        colors, area = self.theme.colors, option.rect.adjusted(6, 0, -14, 0)
        track = QRectF(
            area.left(), area.center().y() - 5, area.width() - self.theme.scaled(_NUMBER), 12
        )
        painter.save()
        painter.fillRect(track, colors.track)
        full = QRectF(track)
        full.setWidth(track.width() * min(1.0, max(0.0, self.line.of(tool))))
        painter.fillRect(full, colors.bar if verdict(tool) == INSIDE else colors.border)
        tick = track.left() + track.width() * min(1.0, self.line.value)
        painter.fillRect(QRectF(tick - 1, track.top() - 3, 2, track.height() + 6), colors.text)
        painter.setPen(colors.text)
        painter.setFont(self._font)
        where = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area, where, f"{self.line.of(tool):.2f}")
        painter.restore()
