"""The host list, and the way out below it."""

from collections.abc import Iterable

from PySide6.QtCore import QItemSelectionModel, QObject, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from app.core.text import plural
from app.host_status.drift import OUTSIDE
from app.host_status.status import CHANGES, NOT_FOUND, UNREADABLE, HostStatus
from ui.look.theme import Theme
from ui.pages.hosts.host_list import HOST_ROLE, HostListModel
from ui.shell.host_state import state_text
from ui.widgets.boxes import vbox
from ui.widgets.delegates import Index, RowDelegate
from ui.widgets.named import named
from ui.widgets.push_button import push_button

HEIGHT, ICON = 46, 20
_LEFT, _RIGHT, _BESIDE = 10, 8, 10  # px around a row, and between icon and words
_ICONS = {
    NOT_FOUND: ("minus-circle-outline", "neutral"),
    UNREADABLE: ("close-octagon", "block"),
    OUTSIDE: ("alert", "warn"),
    CHANGES: ("export-variant", "accent"),
}


class HostDelegate(RowDelegate):
    """Two lines with an icon."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, HEIGHT, parent)
        self._name = self._state = QFont()
        theme.changed.connect(self._take_fonts)
        self._take_fonts()

    def _take_fonts(self) -> None:
        self._name = self.theme.font(0, QFont.Weight.Medium)
        self._state = self.theme.font(-1)

    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        """Two lines of text high; as wide as the list is."""
        lines = option.fontMetrics.height() * 2 + 12
        return QSize(0, max(HEIGHT, lines))

    def widest(self, names: Iterable[str]) -> int:
        """Pixels of the row with the longest of these names."""
        advance = QFontMetrics(self._name).horizontalAdvance
        words = max(map(advance, names), default=0)
        return _LEFT + self.theme.scaled(ICON) + _BESIDE + words + _RIGHT

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw icon, name and state."""
        self.paint_back(painter, option, index)
        status = index.data(HOST_ROLE)
        if not isinstance(status, HostStatus):
            return
        colors, area = self.theme.colors, option.rect.adjusted(_LEFT, 5, -_RIGHT, -5)
        name, role = _ICONS.get(status.state, ("monitor-share", "text2"))
        ink = colors.text2 if role == "text2" else colors.tone(role).ink
        ratio, size = painter.device().devicePixelRatioF(), self.theme.scaled(ICON)
        image = self.theme.icons.pixmap(name, ink, size, ratio)
        painter.save()
        painter.drawPixmap(QPointF(area.left(), area.center().y() - size / 2), image)
        text = area.adjusted(size + _BESIDE, 0, 0, 0)
        half = text.height() // 2
        self._line(painter, QRect(text.left(), text.top(), text.width(), half), status, first=True)
        below = QRect(text.left(), text.top() + half, text.width(), half)
        self._line(painter, below, status, first=False)
        painter.restore()

    def _line(self, painter: QPainter, area: QRect, status: HostStatus, *, first: bool) -> None:
        faint = not first or status.state == NOT_FOUND
        painter.setFont(self._name if first else self._state)
        painter.setPen(self.theme.colors.text2 if faint else self.theme.colors.text)
        words = status.host.name if first else state_text(status)
        text = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)


class HostsSide(QWidget):
    """The left side of the Hosts page."""

    def __init__(self, theme: Theme, model: HostListModel) -> None:
        super().__init__()
        self._model = model
        self.list = named(QListView(uniformItemSizes=True), "Hosts", name="hostList")
        self.list.setModel(model)
        self._cells = HostDelegate(theme, self.list)
        self.list.setItemDelegate(self._cells)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.fold = push_button(
            look="flat_link",
            name="foldHosts",
            tip="Applications that Toolcrib knows and that are not on this computer",
        )
        self.fold.setCheckable(True)
        self.fold.toggled.connect(self._on_fold)
        self.way_out = push_button(
            "Restore all hosts…", tip="Restore every host file to its state before Toolcrib"
        )
        self.way_out.hide()
        vbox((self.list, 1), self.fold, self.way_out, inside=self)
        model.modelReset.connect(self._fit)
        model.modelReset.connect(self._show_fold)
        self._show_fold()
        theme.changed.connect(self._fit)

    def _fit(self) -> None:
        """No name is cut, whatever the text size."""
        names = self._cells.widest([row.host.name for row in self._model.rows])
        bar = self.list.verticalScrollBar().sizeHint().width()
        self.list.setMinimumWidth(names + bar + 2 * self.list.frameWidth())

    def _on_fold(self, on: bool) -> None:
        self._model.unfold(on)
        self._show_fold()

    def _show_fold(self) -> None:
        missing = self._model.missing
        verb = "Hide" if self.fold.isChecked() else "Show"
        self.fold.setText(f"{verb} {plural(missing, 'other host')}")
        self.fold.setVisible(missing > 0)

    def choose(self, host_id: str) -> None:
        """Make a host current; one that is not on this computer is unfolded."""
        row = self._model.row_of(host_id)
        if row >= self._model.rowCount():
            self.fold.setChecked(True)
        if row >= 0:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.list.selectionModel().setCurrentIndex(self._model.index(row), flags)
