"""Enter in dialogs and pages: it presses the focused button, or else the one that submits."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QToolButton,
    QWidget,
)

from ui.look.theme import GAP, MARGIN, Theme
from ui.widgets.boxes import STYLE, Part, scrolled, vbox
from ui.widgets.named import named

Role = QDialogButtonBox.ButtonRole
_TEXT = 520  # px wide, of one that is only read
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class Dialog(QDialog):
    """A dialog that Enter submits only by the button named for it; it is deleted once closed.

    Qt takes the first button of a dialog for its default where none was set in time.
    """

    def __init__(self, parent: QWidget | None = None, *, title: str = "", name: str = "") -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setObjectName(name)
        self._submit: QPushButton | None = None

    def lay_out(self, *parts: Part) -> None:
        """These parts from top to bottom."""
        vbox(*parts, inside=self, margins=STYLE, gap=MARGIN)

    def fit(self, theme: Theme, width: int, height: int) -> None:
        """Give it this size at the text size in use, within its screen."""
        room = self.screen().availableSize() * 9 / 10
        self.resize(QSize(theme.scaled(width), theme.scaled(height)).boundedTo(room))

    def close_box(
        self, *others: QPushButton, role: Role = Role.ActionRole, submits: bool = False
    ) -> QDialogButtonBox:
        """Return a row of others and Close, which Enter presses as well where it `submits`."""
        box = QDialogButtonBox()
        for button in others:
            box.addButton(button, role)
        close = QPushButton("Close")
        box.addButton(close, Role.RejectRole)
        box.rejected.connect(self.reject)
        if submits:
            self.submit_with(close)
        return box

    def submit_with(self, button: QPushButton) -> None:
        """Let Enter press this button while no other has the focus."""
        self._submit = button

    def setVisible(self, visible: bool) -> None:
        """Before it is shown: leave Qt no other button to take for the default."""
        if visible:
            for button in self.findChildren(QPushButton):
                button.setAutoDefault(False)
            if self._submit is not None:
                self._submit.setDefault(True)
        super().setVisible(visible)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the focused button, or submit; Esc as ever."""
        if not is_enter(event):
            super().keyPressEvent(event)
        elif not press_focused(self.focusWidget()) and self._submit is not None:
            _press(self._submit)


def show_html(parent: QWidget, title: str, html: str) -> Dialog:
    """Open a text that is only read; it scrolls where the screen is too low for it."""
    dialog = Dialog(parent, title=title)
    label = named(QLabel(html, textFormat=Qt.TextFormat.RichText, wordWrap=True), title)
    label.setContentsMargins(GAP, GAP, GAP, GAP)
    room = dialog.screen().availableSize()
    width = min(_TEXT, room.width() * 9 // 10)
    high, most = label.heightForWidth(width - 2 * GAP) + 2 * GAP, room.height() * 7 // 10
    area = named(scrolled(label, sideways=False, focus=high > most), title)
    area.setMinimumSize(width, min(high, most))
    dialog.lay_out((area, 1), dialog.close_box(submits=True))
    dialog.open()
    return dialog


def is_enter(event: QKeyEvent) -> bool:
    """True for Enter without Ctrl, Shift or Alt."""
    return event.key() in _ENTER and event.modifiers() in _PLAIN


def press_focused(focus: QWidget | None) -> bool:
    """Press the widget with the focus where it is a button; False for any other widget."""
    if not isinstance(focus, QPushButton | QToolButton):
        return False
    _press(focus)
    return True


def _press(button: QAbstractButton) -> None:
    if button.isVisible():  # a dialog may hide the one that submits
        button.click()
