"""A text cell that repaints cheaply, for tables that a drag repaints whole."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from ui.look.theme import ROW, Theme
from ui.widgets.delegates import Index, RowDelegate


class LeanDelegate(RowDelegate):
    """Text cells that ask the model twice a cell, not ten times: a drag repaints them all."""

    def __init__(
        self,
        theme: Theme,
        height: int = ROW,
        parent: QObject | None = None,
        *,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(theme, height, parent)
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
