"""One change of a host's file, to be looked at and then written: difference, notes, one button."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.export.masking import DiffFile
from ui.look.text import with_tilde
from ui.look.theme import GAP, Theme
from ui.shell.diff_colors import diff_colors
from ui.widgets.diff_rows import diff_rows
from ui.widgets.diff_view import DiffView
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel

KEPT = "A dated copy is kept; undo takes back this change only."


class ChangeSheet(QWidget):
    """The difference, and the one button that makes it; `name` begins the widgets' names.

    Signals: closed; write_wanted(Plan) by the user.
    """

    closed = Signal()
    write_wanted = Signal(object)

    def __init__(self, theme: Theme, home: Path, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._home, self._theme = home, theme
        self.title = PlainLabel()
        theme.dress(self.title, 2, QFont.Weight.DemiBold)
        self.notes = PlainLabel(wrap=True)
        self.path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.path.setProperty("faint", True)
        self.diff = DiffView(diff_colors(theme.colors))
        self.diff.before.setObjectName(f"{name}Before")
        self.diff.after.setObjectName(f"{name}After")
        for side in (self.diff.before, self.diff.after):
            theme.dress_fixed(side)
        self.hint = PlainLabel(wrap=True)
        self.hint.setProperty("faint", True)
        self.close_button = QPushButton("Cancel")
        self.write = QPushButton()
        self.write.setObjectName(f"write{name.capitalize()}")
        self.write.setProperty("primary", True)
        self.foot = QHBoxLayout()
        self._lay_out()
        self.close_button.clicked.connect(self.closed)
        theme.changed.connect(self._recolor)

    def show_files(self, files: Sequence[DiffFile], notes: Sequence[str]) -> None:
        """The difference, or that there is none, and what to know before."""
        self.notes.setText("\n".join(notes))
        self.notes.setVisible(bool(notes))
        self.path.setText(with_tilde(files[0].path, self._home) if files else "")
        self.diff.show_rows(diff_rows(files[0].pairs, hidden=files[0].hidden) if files else ())
        self.diff.setVisible(bool(files))
        self.hint.setText(KEPT if files else "No change: the file already has this.")
        self.write.setEnabled(bool(files))

    def _recolor(self) -> None:
        self.diff.set_colors(diff_colors(self._theme.colors))

    def _lay_out(self) -> None:
        self.foot.setSpacing(GAP)
        self.foot.addWidget(self.hint, 1)
        self.foot.addWidget(self.close_button)
        self.foot.addWidget(self.write)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        for widget in (self.title, self.notes, self.path):
            column.addWidget(widget)
        column.addWidget(self.diff, 1)
        column.addStretch(0)
        column.addLayout(self.foot)
