"""The form for a profile's name."""

from collections.abc import Collection

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app.policy.profiles import LONGEST, name_problem
from ui.widgets.boxes import form
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel


class ProfileDialog(FormDialog):
    """Stays open until the name can be used.

    Signals: given(name) then.
    """

    submitted = Signal(str)

    def __init__(
        self,
        title: str,
        hint: str,
        taken: Collection[str],
        *,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(title, title, parent, name="profileDialog")
        self._taken = frozenset(taken)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 56)
        self.name = QLineEdit(name, placeholderText="for example: work", maxLength=LONGEST)
        self.name.setAccessibleName("Name of the profile")
        self.name.selectAll()
        self.lay_out(PlainLabel(hint, wrap=True, look="faint"), form(("&Name", self.name)))

    def press(self) -> None:
        """Give the name, or say what is wrong with it."""
        name = self.name.text().strip()
        problem = name_problem(name, self._taken)
        if problem:
            self.refuse(problem, self.name)
            return
        self.submitted.emit(name)
        self.accept()
