"""Cells of the candidates: the verdict as a badge, the score as a bar with the threshold on it."""

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from app.ranking.ranked import RankedTool
from ui.look.theme import ROW, Theme
from ui.shell.answer import state_of
from ui.shell.badges import badge
from ui.shell.gate_lines import Line
from ui.widgets.badge import paint_badge
from ui.widgets.delegates import Index, LeanDelegate, RowDelegate, paint_panel

RANKED_ROLE = int(Qt.ItemDataRole.UserRole) + 10
_LEAST_BAR = 24  # px that a bar says something in
_NUMBER = 44  # px for the score's figure


def verdict(tool: RankedTool) -> str:
    """In, Out or Held."""
    return state_of(tool).capitalize()


class ToolDelegate(LeanDelegate):
    """A tool's name: both ends of `server/tool` tell tools apart."""

    def __init__(self, theme: Theme, height: int = ROW, parent: QObject | None = None) -> None:
        super().__init__(theme, height, parent, elide=Qt.TextElideMode.ElideMiddle)


class VerdictDelegate(RowDelegate):
    """In, Out or Held as a badge."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the badge."""
        paint_panel(painter, option)
        state = badge(index.data(Qt.ItemDataRole.DisplayRole))
        paint_badge(painter, option.rect.adjusted(6, 0, -2, 0), state, self.theme)


class ScoreDelegate(RowDelegate):
    """The score's bar, the threshold as a tick on it, the figure at its right."""

    def __init__(self, theme: Theme, height: int = ROW, parent: QObject | None = None) -> None:
        super().__init__(theme, height, parent)
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
        if track.width() >= _LEAST_BAR:
            painter.fillRect(track, colors.track)
            full = QRectF(track)
            full.setWidth(track.width() * min(1.0, max(0.0, self.line.of(tool))))
            painter.fillRect(full, colors.bar if tool.shown else colors.border)
            if self.line.drawn:
                tick = QRectF(-1, track.top() - 3, 2, track.height() + 6)
                tick.translate(track.left() + track.width() * min(1.0, self.line.value), 0)
                painter.fillRect(tick, colors.text)
        painter.setPen(colors.text)
        painter.setFont(self._font)
        where = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area, where, f"{self.line.of(tool):.2f}")
        painter.restore()
