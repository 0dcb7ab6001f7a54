"""A badge that can be pressed: it shows only the rows that it counts."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from ui.look.text import plain_tip
from ui.look.theme import Theme
from ui.widgets.badge import badge_height, badge_width, paint_badge
from ui.widgets.roles import BadgeText

_RING = 3  # pixels around the pill, for the focus ring and the sign of being pressed


class BadgeButton(QAbstractButton):
    """A checkable pill; a line around it says that it is pressed, a ring that it has the focus."""

    def __init__(self, theme: Theme, badge: BadgeText) -> None:
        super().__init__()
        self._theme = theme
        self._badge = badge
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_badge(badge)
        theme.changed.connect(self._restyle)

    @property
    def badge(self) -> BadgeText:
        """The badge shown."""
        return self._badge

    def show_badge(self, badge: BadgeText) -> None:
        """Show another one."""
        self._badge = badge
        self.setAccessibleName(f"Show only: {badge.word}")
        self.setToolTip(plain_tip(f"Show only: {badge.word}"))
        self._restyle()

    def sizeHint(self) -> QSize:
        """The pill with its ring."""
        width = badge_width(self._badge, self._theme)
        return QSize(width + 2 * _RING, badge_height(self._theme) + 2 * _RING)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The pill, then its ring."""
        painter = QPainter(self)
        inner = self.rect().adjusted(_RING, _RING, -_RING, -_RING)
        paint_badge(painter, inner, self._badge, self._theme)
        colors = self._theme.colors
        if self.isChecked() or self.hasFocus():
            ink = colors.accent.ink if self.hasFocus() else colors.tone(self._badge.tone).ink
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(ink, 2))
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
        painter.end()

    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()
