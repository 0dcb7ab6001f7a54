"""Base of the small forms: they stay open until the typed values can be used."""

from PySide6.QtWidgets import QDialogButtonBox, QPushButton, QWidget

from ui.widgets.boxes import Part
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button


class FormDialog(Dialog):
    """A form with Save and Cancel; subclasses say what Save does."""

    def __init__(
        self, title: str, save: str, parent: QWidget | None = None, *, name: str = ""
    ) -> None:
        super().__init__(parent, title=title, name=name)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.problem.hide()
        self.save = push_button(save, look="primary")
        self.submit_with(self.save)
        self.buttons = QDialogButtonBox()
        self.buttons.addButton(QPushButton("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self.buttons.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.accepted.connect(self.press)
        self.buttons.rejected.connect(self.reject)

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        raise NotImplementedError

    def lay_out(self, *parts: Part) -> None:
        """These from top to bottom, then what is wrong, then the buttons."""
        super().lay_out(*parts, self.problem, self.buttons)

    def refuse(self, problem: str, field: QWidget) -> None:
        """Say what is wrong, and go to where it can be mended."""
        self.problem.say(problem)
        layout = self.layout()
        if layout is not None:  # lines that wrap make no window taller by themselves
            layout.activate()
            self.resize(self.width(), max(self.height(), layout.totalHeightForWidth(self.width())))
        field.setFocus()
