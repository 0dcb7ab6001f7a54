"""Every step that can be undone, in a list: choosing one goes back, or forward, to it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QPushButton,
    QUndoView,
    QVBoxLayout,
    QWidget,
)

from ui.look.theme import MARGIN
from ui.widgets.dialog import Dialog
from ui.widgets.form_dialog import plain_label

_HINT = "Choose a step to go back to it; those below it can be done again."


def show_history(parent: QWidget, undo: QUndoStack) -> None:
    """Open the list."""
    dialog = Dialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setObjectName("history")
    dialog.setWindowTitle("History")
    dialog.resize(440, 400)
    steps = QUndoView(undo, dialog)
    steps.setEmptyLabel("As it was before these steps")
    steps.setAccessibleName("Steps")
    hint = plain_label(_HINT, faint=True)
    buttons = QDialogButtonBox()
    close = QPushButton("Close")
    buttons.addButton(close, QDialogButtonBox.ButtonRole.RejectRole)
    dialog.submit_with(close)
    buttons.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog)
    column.setSpacing(MARGIN)
    column.addWidget(hint)
    column.addWidget(steps, 1)
    column.addWidget(buttons)
    dialog.open()
    steps.setFocus()
