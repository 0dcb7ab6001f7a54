"""One change of a host's file, to be looked at and then written: difference, notes, one button."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.core.errors import ToolcribError
from app.export.masking import DiffFile
from app.export.plan import Plan
from ui.look.text import with_tilde
from ui.look.theme import Theme
from ui.widgets.boxes import SPARE, hbox, vbox
from ui.widgets.diff_rows import diff_rows
from ui.widgets.diff_view import DiffView
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.message_bar import MessageBar
from ui.widgets.push_button import push_button

KEPT = "A dated copy is kept; undo takes back this change only."


def say_refused(
    messages: MessageBar, error: ToolcribError, preview_again: Callable[[], object]
) -> None:
    """Say why nothing was written, with the way to a new preview."""
    refused = ToolcribError(f"Not written: {error.title}", error.hint)
    messages.error(refused, ("Refresh preview", preview_again))


class ChangeSheet(QWidget):
    """The difference, and the one button that makes it; `name` begins the widgets' names.

    Signals: closed; write_wanted(Plan) by the user.
    """

    closed = Signal()
    write_wanted = Signal(object)

    def __init__(self, theme: Theme, home: Path, name: str) -> None:
        super().__init__()
        self._home = home
        self._plan: Plan | None = None
        self.title = theme.heading(PlainLabel(), 2)
        self.notes = PlainLabel(wrap=True)
        self.path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle, look="faint")
        self.diff = DiffView(theme)
        self.diff.before.setObjectName(f"{name}Before")
        self.diff.after.setObjectName(f"{name}After")
        self.hint = PlainLabel(wrap=True, look="faint")
        self.close_button = push_button("Cancel", self.closed)
        self.write = push_button("", self._give, look="primary", name=f"write{name.capitalize()}")
        self.foot = hbox((self.hint, 1), self.close_button, self.write)
        vbox(self.title, self.notes, self.path, (self.diff, 1), SPARE, self.foot, inside=self)

    def show_files(self, plan: Plan, files: Sequence[DiffFile], notes: Sequence[str]) -> None:
        """The difference that a plan makes, or that there is none, and what to know before."""
        self._plan = plan
        self.notes.say("\n".join(notes))
        self.path.setText(with_tilde(files[0].path, self._home) if files else "")
        self.diff.show_rows(diff_rows(files[0].pairs, hidden=files[0].hidden) if files else ())
        self.diff.setVisible(bool(files))
        self.hint.setText(KEPT if files else "No change: the file already has this.")
        self.write.setEnabled(bool(files))

    def _give(self) -> None:
        self.write_wanted.emit(self._plan)
