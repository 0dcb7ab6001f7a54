"""Base of the small forms: they stay open until the typed values can be used."""

from PySide6.QtWidgets import (
    QDialogButtonBox,
    QLabel,
    QLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.look.theme import MARGIN
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel


class FormDialog(Dialog):
    """A form with Save and Cancel; subclasses say what Save does."""

    def __init__(self, title: str, save: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.problem = plain_label("")
        self.problem.setProperty("wrong", True)
        self.problem.hide()
        self.save = QPushButton(save)
        self.save.setProperty("primary", True)
        self.submit_with(self.save)
        self.buttons = QDialogButtonBox()
        self.buttons.addButton(QPushButton("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self.buttons.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.accepted.connect(self.press)
        self.buttons.rejected.connect(self.reject)

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        raise NotImplementedError

    def lay_out(self, *parts: QWidget | QLayout) -> None:
        """These from top to bottom, then what is wrong, then the buttons."""
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        for part in (*parts, self.problem, self.buttons):
            if isinstance(part, QLayout):
                column.addLayout(part)
            else:
                column.addWidget(part)

    def refuse(self, problem: str, field: QWidget) -> None:
        """Say what is wrong, and go to where it can be mended."""
        self.problem.setText(problem)
        self.problem.show()
        layout = self.layout()
        if layout is not None:  # lines that wrap make no window taller by themselves
            layout.activate()
            self.resize(self.width(), max(self.height(), layout.totalHeightForWidth(self.width())))
        field.setFocus()


def plain_label(text: str, *, faint: bool = False) -> QLabel:
    """A text that wraps and is never taken for markup."""
    label = PlainLabel(text, wrap=True)
    if faint:
        label.setProperty("faint", True)
    return label
