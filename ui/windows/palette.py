"""The command palette: one line that finds every command, tool, server and term (Ctrl+K)."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QFrame, QLineEdit, QListView, QStyleOptionViewItem, QWidget
from shiboken6 import isValid

from ui.look.theme import GAP, ROW, Theme
from ui.widgets.boxes import vbox
from ui.widgets.columns import Column
from ui.widgets.delegates import RowDelegate
from ui.widgets.label import PlainLabel
from ui.widgets.row_table import Index, RowTable
from ui.windows.palette_entries import ICONS, Entry, matches

WIDTH = 560
_ROWS = 11
_TOP = 84  # pixels from the window's upper edge
_ENTRY = int(Qt.ItemDataRole.UserRole) + 20
_HINT = "> commands   # tools   @ servers   ? terms      Enter runs · Ctrl+Enter on a tool: Why?"
_OWN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
_COLUMNS: tuple[Column[Entry], ...] = (
    Column(
        "Found",
        lambda entry: entry.text,
        roles={
            _ENTRY: lambda entry: entry,
            Qt.ItemDataRole.AccessibleTextRole: lambda e: f"{e.text}, {e.hint or e.kind}",
        },
    ),
)


class CommandPalette(QFrame):
    """Opens over the window and gives the focus back to where it was.

    `entries` is asked each time it opens, so that it offers what there is now.

    Signals: ran() before a command is run.
    """

    ran = Signal()

    def __init__(
        self, theme: Theme, window: QWidget, entries: Callable[[], Sequence[Entry]]
    ) -> None:
        super().__init__(window)
        self.setObjectName("palette")
        self.setProperty("card", True)
        self._window = window
        self._entries_now = entries
        self._entries: Sequence[Entry] = ()
        self._before: QWidget | None = None  # what had the focus
        self.line = QLineEdit(placeholderText="Search tools or run a command")
        self.line.setAccessibleName("Search tools or run a command")
        self.model = RowTable(_COLUMNS, self)
        self.list = QListView(uniformItemSizes=True)
        self.list.setAccessibleName("Found")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setModel(self.model)
        self.list.setItemDelegate(_EntryDelegate(theme, self.list))
        self.nothing = PlainLabel("Nothing is called that.")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        hint = PlainLabel(_HINT, look="faint")
        vbox(self.line, self.list, self.nothing, hint, inside=self, margins=GAP)
        self.line.textChanged.connect(self._find)
        self.line.installEventFilter(self)
        self.list.clicked.connect(lambda _index: self.run())
        self.hide()

    def open(self, typed: str = "") -> None:
        """Show it, empty or with something typed."""
        if self.isHidden():
            self._before = self._window.focusWidget()
        self._entries = self._entries_now()
        self.line.setText(typed)
        self._find(typed)
        self._place()
        self.show()
        self.raise_()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def shut(self) -> None:
        """Hide it; the focus goes back."""
        if self.isHidden():
            return
        had = self.line.hasFocus()
        self.hide()
        before, self._before = self._before, None
        if had and before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.PopupFocusReason)

    def run(self, *, also: bool = False) -> None:
        """Do the current entry's first thing, or its other one."""
        entry = self.list.currentIndex().data(_ENTRY)
        if isinstance(entry, Entry):
            self.shut()
            self.ran.emit()
            (entry.also if also and entry.also else entry.run)()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys go from the line to the list; leaving the line closes the palette."""
        if event.type() == QEvent.Type.FocusOut:
            self.shut()
        if isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.ShortcutOverride and event.key() in _OWN_KEYS:
                event.accept()  # else the window's shortcut of that key would run
                return True
            if event.type() == QEvent.Type.KeyPress:
                return self._key(event)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: _ROWS,
            Qt.Key.Key_PageUp: -_ROWS,
        }
        if key in steps:
            self._choose(self.list.currentIndex().row() + steps[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.run(also=bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
        elif key == Qt.Key.Key_Tab:
            self._complete()
        elif key == Qt.Key.Key_Escape:
            self.shut()
        else:
            return False
        return True

    def _complete(self) -> None:
        entry = self.list.currentIndex().data(_ENTRY)
        if isinstance(entry, Entry):
            self.line.setText(entry.text)

    def _find(self, typed: str) -> None:
        self.model.replace_rows(matches(self._entries, typed))
        some = self.model.rowCount() > 0
        self.list.setVisible(some)
        self.nothing.setVisible(not some)
        self._choose(0)

    def _choose(self, row: int) -> None:
        last = self.model.rowCount() - 1
        if last >= 0:
            self.list.setCurrentIndex(self.model.index(max(0, min(row, last)), 0))

    def _place(self) -> None:
        row = max(ROW, self.fontMetrics().height() + 10)
        self.list.setFixedHeight(_ROWS * row + 4)
        width = min(WIDTH, self._window.width() - 4 * GAP)
        self.setFixedWidth(width)
        self.adjustSize()
        self.move((self._window.width() - width) // 2, _TOP)


class _EntryDelegate(RowDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(theme, ROW, view)

    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(0, max(ROW, option.fontMetrics.height() + 10))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Icon, text, and at the right its keys or what it is."""
        entry = index.data(_ENTRY)
        if not isinstance(entry, Entry):
            return
        self.paint_back(painter, option, index)
        colors, area = self.theme.colors, option.rect.adjusted(8, 0, -8, 0)
        ratio, size = painter.device().devicePixelRatioF(), self.theme.scaled(16)
        image = self.theme.icons.pixmap(ICONS[entry.kind], colors.text2, size, ratio)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.save()
        painter.drawPixmap(area.left(), area.center().y() - size // 2 + 1, image)
        painter.setPen(colors.text2)
        painter.drawText(area, middle | Qt.AlignmentFlag.AlignRight, entry.hint)
        room = area.adjusted(
            size + 10, 0, -option.fontMetrics.horizontalAdvance(entry.hint) - 12, 0
        )
        text = option.fontMetrics.elidedText(entry.text, Qt.TextElideMode.ElideRight, room.width())
        painter.setPen(colors.text)
        painter.drawText(room, middle, text)
        painter.restore()
