"""Every step that can be undone, in a list: choosing one goes back, or forward, to it."""

from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QUndoView, QWidget

from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel

_HINT = "Choose a step to go back to it; those below it can be done again."
_NONE = "Nothing to take back yet. What you change from now on is listed here."


def show_history(parent: QWidget, undo: QUndoStack) -> None:
    """Open the list."""
    dialog = Dialog(parent, title="History", name="history")
    dialog.resize(440, 400)
    steps = QUndoView(undo, dialog, emptyLabel="As it was before these steps")
    steps.setAccessibleName("Steps")
    hint = PlainLabel(_HINT if undo.count() else _NONE, wrap=True, look="faint")
    dialog.lay_out(hint, (steps, 1), dialog.close_box(submits=True))
    dialog.open()
    steps.setFocus()
