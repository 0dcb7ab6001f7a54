"""Cells: rows of one height, size bars with a number, badges.

The models fill DisplayRole with the painted text in every case: screen readers read that.
"""

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from ui.look.colors import Colors
from ui.look.theme import ROW, Theme
from ui.widgets.badge import BadgeText, paint_badge
from ui.widgets.guarded import Guarded
from ui.widgets.roles import BADGE, BAR, FAINT

Index = QModelIndex | QPersistentModelIndex
_LEAST_TRACK = 24  # pixels; a shorter bar tells nothing
NUMBER = 78  # pixels of a bar's column that leave room for its number only


class RowDelegate(Guarded, QStyledItemDelegate):
    """Rows of at least one height, in all columns, also when the font grows."""

    def __init__(self, theme: Theme, height: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._height = height

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Never lower than a row."""
        size = super().sizeHint(option, index)
        size.setHeight(self.theme.row(self._height, option.fontMetrics.height()))
        return size

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Off rows in the second text colour; no dotted focus frame: the row itself shows it."""
        super().initStyleOption(option, index)
        if index.data(FAINT):
            option.palette.setColor(option.palette.ColorRole.Text, self.theme.colors.text2)
            option.palette.setColor(
                option.palette.ColorRole.HighlightedText, self.theme.colors.text2
            )
        option.state &= ~QStyle.StateFlag.State_HasFocus

    def paint_back(self, painter: QPainter, option: QStyleOptionViewItem, _index: Index) -> None:
        """The selection behind a cell that paints itself; the view drew the row already."""
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, self.theme.colors.selection)


class BarDelegate(RowDelegate):
    """A bar with the cell's number at its right; what is off is hatched.

    BAR holds two shares of the track, 0 to 1: what is on, what is off.
    """

    def __init__(
        self, theme: Theme, height: int, parent: QObject | None = None, *, number: int = 64
    ) -> None:
        super().__init__(theme, height, parent)
        self._number = number  # pixels for the number
        self._font = QFont()
        theme.changed.connect(self._take_font)
        self._take_font()

    def _take_font(self) -> None:
        self._font = self.theme.font(0, QFont.Weight.DemiBold)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw track, bar and number."""
        self.paint_back(painter, option, index)
        area = option.rect.adjusted(5, 0, -8, 0)
        bar = index.data(BAR)
        if bar is not None:
            solid, hatched = bar
            number = self.theme.scaled(self._number)
            track = QRectF(area.left(), area.center().y() - 5, area.width() - number, 12)
            if track.width() >= _LEAST_TRACK:
                paint_bar(painter, track, solid=solid, hatched=hatched, colors=self.theme.colors)
        faint = bool(index.data(FAINT))
        painter.save()
        painter.setFont(option.font if faint else self._font)
        painter.setPen(self.theme.colors.text2 if faint else self.theme.colors.text)
        where = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area, where, index.data(Qt.ItemDataRole.DisplayRole) or "")
        painter.restore()


class TextDelegate(RowDelegate):
    """Plain text without check box or icon, at a fraction of the cost of the style's own cell.

    It begins and ends where the heading's does, which is 2 px further in than the style's own.
    """

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the text as far as it fits."""
        self.paint_back(painter, option, index)
        text = index.data(Qt.ItemDataRole.DisplayRole)
        if text:
            area = option.rect.adjusted(5, 0, -5, 0)
            faint = bool(index.data(FAINT))
            painter.setPen(self.theme.colors.text2 if faint else self.theme.colors.text)
            painter.setFont(option.font)
            short = option.fontMetrics.elidedText(text, option.textElideMode, area.width())
            where = index.data(Qt.ItemDataRole.TextAlignmentRole)
            painter.drawText(area, where or Qt.AlignmentFlag.AlignVCenter, short)


class BadgeDelegate(TextDelegate):
    """At most one badge, else plain text."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the badge of the cell, or its text when it has none."""
        badge = index.data(BADGE)
        if not isinstance(badge, BadgeText):
            super().paint(painter, option, index)
            return
        self.paint_back(painter, option, index)
        paint_badge(painter, option.rect.adjusted(5, 0, -4, 0), badge, self.theme)


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


def paint_bar(
    painter: QPainter, track: QRectF, *, solid: float, hatched: float, colors: Colors
) -> None:
    """A track with a solid bar, then a hatched one, as shares of its width."""
    if track.width() < 8:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colors.track)
    painter.drawRoundedRect(track, 3, 3)
    left = track.left()
    if solid > 0:
        full = QRectF(track)
        full.setWidth(max(3.0, track.width() * min(1.0, solid)))
        painter.setBrush(colors.bar)
        painter.drawRoundedRect(full, 3, 3)
        left = full.right()
    if hatched > 0:
        width = max(3.0, track.width() * min(1.0, hatched))
        rest = QRectF(left, track.top(), min(width, track.right() - left), track.height())
        hatch(painter, rest, colors)
    painter.restore()


def hatch(painter: QPainter, area: QRectF, colors: Colors, step: float = 5.0) -> None:
    """Diagonal lines over an area: the sign for off, the same at every resolution."""
    painter.save()
    painter.setClipRect(area, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(colors.text2, 1.0))
    x = area.left() - area.height()
    x -= x % step  # neighbouring areas share their lines
    while x < area.right():
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x + area.height(), area.top()))
        x += step
    painter.restore()
