"""What writing a host's hook, or taking it out, would change; nothing is written unseen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.export.masking import DiffFile, masked_diff
from app.export.plan import Plan
from ui.look.text import with_tilde
from ui.look.theme import GAP, Theme
from ui.pages.hosts.colors import diff_colors
from ui.widgets.diff_rows import diff_rows
from ui.widgets.diff_view import DiffView
from ui.widgets.elided import ElidedLabel

_KEPT = "A dated copy is kept; undo puts the file back byte for byte."
_OUT = "The host asks Toolcrib no more. Everything else in the file stays as it is."


@dataclass(frozen=True, slots=True)
class HookPreview:
    """A hook's plan, with its files as they may be shown."""

    plan: Plan
    wanted: bool  # written, or taken out
    files: tuple[DiffFile, ...]

    @classmethod
    def of(cls, plan: Plan, *, wanted: bool) -> "HookPreview":
        """Masked like every host file."""
        return cls(plan, wanted, masked_diff(plan))

    @property
    def sentences(self) -> Sequence[str]:
        """What to know before."""
        return self.plan.warnings if self.wanted else (_OUT,)


class HookSheet(QWidget):
    """The difference, and the one button that makes it.

    Signals: closed; write_wanted(Plan) by the user.
    """

    closed = Signal()
    write_wanted = Signal(object)

    def __init__(self, theme: Theme, home: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self.preview: HookPreview | None = None
        self.title = QLabel()
        theme.dress(self.title, 2, QFont.Weight.DemiBold)
        self.notes = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.path.setProperty("faint", True)
        self.diff = DiffView(diff_colors(theme.colors))
        self.diff.before.setObjectName("hookBefore")
        self.diff.after.setObjectName("hookAfter")
        for side in (self.diff.before, self.diff.after):
            theme.dress_fixed(side)
        self.hint = QLabel(wordWrap=True)
        self.hint.setProperty("faint", True)
        self.close_button = QPushButton("Cancel")
        self.write = QPushButton()
        self.write.setObjectName("writeHook")
        self.write.setProperty("primary", True)
        self._lay_out()
        self.close_button.clicked.connect(self.closed)
        self.write.clicked.connect(self._write)
        theme.changed.connect(lambda: self.diff.set_colors(diff_colors(theme.colors)))

    def show_preview(self, preview: HookPreview) -> None:
        """Show what would be written."""
        self.preview = preview
        files, name = preview.files, preview.plan.host.name
        what = "Suggest tools for each prompt" if preview.wanted else "No more suggestions"
        self.title.setText(f"{what}: {name}")
        self.notes.setText("\n".join(preview.sentences))
        self.path.setText(with_tilde(files[0].path, self._home) if files else "")
        self.diff.show_rows(diff_rows(files[0].pairs, hidden=files[0].hidden) if files else ())
        self.diff.setVisible(bool(files))
        self.hint.setText(_KEPT if files else "The file says so already: there is no change.")
        self.write.setText("Write hook" if preview.wanted else "Take the hook out")
        self.write.setEnabled(bool(files))

    def _write(self) -> None:
        if self.preview is not None:
            self.write_wanted.emit(self.preview.plan)

    def _lay_out(self) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(GAP)
        foot.addWidget(self.hint, 1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.write)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        for widget in (self.title, self.notes, self.path):
            column.addWidget(widget)
        column.addWidget(self.diff, 1)
        column.addStretch(0)
        column.addLayout(foot)
