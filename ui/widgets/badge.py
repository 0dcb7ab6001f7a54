"""The pill that names a state: icon, word and shape, never colour alone."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.look.theme import Theme
from ui.widgets.roles import BadgeText as BadgeText

HEIGHT, ICON, PAD = 19, 13, 7  # pixels; the height grows with the text


def badge_width(badge: BadgeText, theme: Theme) -> int:
    """Pixels that the badge takes."""
    icon = theme.scaled(ICON) + 4 if badge.icon else 0
    return QFontMetrics(badge_font(theme)).horizontalAdvance(badge.word) + icon + 2 * PAD


def badge_height(theme: Theme) -> int:
    """Pixels that a badge is high."""
    return max(HEIGHT, QFontMetrics(badge_font(theme)).height() + 4)


def paint_badge(painter: QPainter, area: QRect, badge: BadgeText, theme: Theme) -> None:
    """Draw the badge at the left of the area, centred in its height."""
    tone = theme.colors.tone(badge.tone)
    font = badge_font(theme)
    width, height = min(badge_width(badge, theme), area.width()), badge_height(theme)
    top = area.top() + (area.height() - height) / 2
    pill = QRectF(area.left(), top, width, height)
    ink = tone.on_solid if badge.solid else tone.ink
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(tone.ink if badge.solid else tone.tint)
    painter.drawRoundedRect(pill, height / 2, height / 2)
    left = pill.left() + PAD
    if badge.icon:
        ratio, size = painter.device().devicePixelRatioF(), theme.scaled(ICON)
        image = theme.icons.pixmap(badge.icon, ink, size, ratio)
        painter.drawPixmap(QPointF(left, pill.top() + (height - size) / 2), image)
        left += size + 4
    painter.setPen(ink)
    painter.setFont(font)
    room = QRectF(left, pill.top(), pill.right() - PAD / 2 - left, height)
    word = QFontMetrics(font).elidedText(badge.word, Qt.TextElideMode.ElideRight, int(room.width()))
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, word)
    painter.restore()


def badge_font(theme: Theme) -> QFont:
    """The font of badges."""
    return theme.font(-1, QFont.Weight.DemiBold)


class Badge(QWidget):
    """A badge as a widget."""

    def __init__(self, theme: Theme, badge: BadgeText, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._badge = badge
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(badge.word)
        theme.changed.connect(self._restyle)

    @property
    def badge(self) -> BadgeText:
        """The badge shown."""
        return self._badge

    def show_badge(self, badge: BadgeText) -> None:
        """Show another one."""
        self._badge = badge
        self.setAccessibleName(badge.word)
        self._restyle()

    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as its word."""
        return QSize(badge_width(self._badge, self._theme), badge_height(self._theme))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the pill."""
        painter = QPainter(self)
        paint_badge(painter, self.rect(), self._badge, self._theme)
        painter.end()
