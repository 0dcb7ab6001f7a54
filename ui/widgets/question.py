"""The one form of a question that stops the user; few things may ask one (UX 2.7)."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget


def confirm(parent: QWidget, text: str, more: str, *, yes: str) -> bool:
    """Ask a question; True if the user pressed `yes`. The safe answer is the default."""
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)  # names in it are a stranger's
    box.setText(text)
    box.setInformativeText(more)
    button = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.exec()
    return box.clickedButton() is button
