"""The list of sections at the left; below 1100 px only their icons."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from ui.look.text import plain_tip
from ui.look.theme import SIDE_ROW, Theme
from ui.widgets.badge import BadgeText, badge_width, paint_badge
from ui.widgets.guarded import Guarded
from ui.widgets.roles import BADGE

WIDE, NARROW = 188, 48
ICON, LARGEST = 20, 32  # px; large text leaves pages no room for larger icons beside them
_KEY = int(Qt.ItemDataRole.UserRole) + 10
_ICON = int(Qt.ItemDataRole.UserRole) + 11


@dataclass(frozen=True, slots=True)
class Section:
    """One page's name in code and in the window, its icon, and its purpose in one line."""

    key: str
    title: str
    icon: str
    purpose: str


class Sidebar(QListView):
    """The sections.

    Signals: chosen(key) when the user picks a section.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        super().__init__()
        self.setObjectName("nav")
        self.setAccessibleName("Sections")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("#nav { background: transparent; border: none; }")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self._theme = theme
        self._items = QStandardItemModel(self)
        for number, section in enumerate(sections, 1):
            item = QStandardItem(section.title)
            item.setData(section.key, _KEY)
            item.setData(section.icon, _ICON)
            item.setToolTip(plain_tip(f"{section.title} (Ctrl+{number})\n{section.purpose}"))
            self._items.appendRow(item)
        self.setModel(self._items)
        self.setItemDelegate(_SectionDelegate(theme, self))
        self.selectionModel().currentChanged.connect(
            lambda index, _: self.chosen.emit(index.data(_KEY)) if index.isValid() else None
        )
        theme.changed.connect(self.doItemsLayout)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """Show icons only, or icons with titles."""
        scaled = self._theme.scaled
        self.narrow = narrow
        self.setFixedWidth(max(NARROW, icon_size(self._theme) + 24) if narrow else scaled(WIDE))

    def choose(self, key: str) -> None:
        """Select a section."""
        self.setCurrentIndex(self._item(key).index())

    def set_badge(self, key: str, text: str, tone: str) -> None:
        """Show a badge at a section, "" for none."""
        item = self._item(key)
        item.setData(BadgeText(text, tone) if text else None, BADGE)
        name = f"{item.text()}, {text}" if text else item.text()
        item.setData(name, Qt.ItemDataRole.AccessibleTextRole)

    def _item(self, key: str) -> QStandardItem:
        items = map(self._items.item, range(self._items.rowCount()))
        return next(item for item in items if item.data(_KEY) == key)


def icon_size(theme: Theme) -> int:
    """Pixels of a section's icon."""
    return min(LARGEST, theme.scaled(ICON))


class _SectionDelegate(Guarded, QStyledItemDelegate):
    def __init__(self, theme: Theme, view: Sidebar) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def sizeHint(
        self,
        option: QStyleOptionViewItem,
        _index: QModelIndex | QPersistentModelIndex,
    ) -> QSize:
        return QSize(0, max(SIDE_ROW, option.fontMetrics.height() + 16))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        colors, theme = self._theme.colors, self._theme
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        area = option.rect.adjusted(8, 2, -8, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.selection)
            painter.drawRoundedRect(QRectF(area), 6, 6)
            painter.setBrush(colors.accent.ink)
            edge = QRectF(area.left(), area.top() + 6, 3, area.height() - 12)
            painter.drawRoundedRect(edge, 1.5, 1.5)
        if chosen and self._view.hasFocus():
            painter.setPen(colors.accent.ink)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(area).adjusted(1, 1, -1, -1), 6, 6)
        ink = colors.accent.ink if chosen else colors.text2
        ratio, size = painter.device().devicePixelRatioF(), icon_size(theme)
        image = theme.icons.pixmap(index.data(_ICON), ink, size, ratio)
        top = area.center().y() - size // 2 + 1
        painter.drawPixmap(area.left() + 6, top, image)
        if not self._view.narrow:
            painter.setPen(colors.text)
            painter.setFont(theme.font(0, QFont.Weight.DemiBold if chosen else QFont.Weight.Normal))
            words = area.adjusted(size + 18, 0, 0, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, str(index.data()))
            self._badge(painter, area, index.data(BADGE))
        painter.restore()

    def _badge(self, painter: QPainter, area: QRect, badge: object) -> None:
        if isinstance(badge, BadgeText):
            width = badge_width(badge, self._theme)
            place = QRect(area.right() - width - 6, area.top(), width, area.height())
            paint_badge(painter, place, badge, self._theme)
