"""The form for a profile's name."""

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.profiles import LONGEST, name_problem
from ui.theme import MARGIN


class ProfileDialog(QDialog):
    """Stays open until the name can be used.

    Signals: given(name) then.
    """

    given = Signal(str)

    def __init__(
        self,
        title: str,
        hint: str,
        known: Collection[str],
        *,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._known = frozenset(known)
        self.setObjectName("profileDialog")
        self.setWindowTitle(title)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 56)
        self.name = QLineEdit(name)
        self.name.setAccessibleName("Name of the profile")
        self.name.setPlaceholderText("for example: work")
        self.name.setMaxLength(LONGEST)
        self.name.selectAll()
        said = QLabel(hint)
        said.setTextFormat(Qt.TextFormat.PlainText)
        said.setProperty("faint", True)
        said.setWordWrap(True)
        self.problem = QLabel()
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setWordWrap(True)
        self.problem.setProperty("wrong", True)
        self.problem.hide()
        form = QFormLayout()
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.addRow("&Name", self.name)
        buttons = QDialogButtonBox()
        buttons.addButton(QPushButton("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self.save = QPushButton(title)
        self.save.setProperty("primary", True)
        self.save.setDefault(True)
        buttons.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self.press)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        column.addWidget(said)
        column.addLayout(form)
        column.addWidget(self.problem)
        column.addWidget(buttons)

    def press(self) -> None:
        """Give the name, or say what is wrong with it."""
        name = self.name.text().strip()
        problem = name_problem(name, self._known)
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if problem:
            self.name.setFocus()
            return
        self.given.emit(name)
        self.accept()
