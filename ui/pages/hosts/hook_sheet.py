"""What writing a host's hook, or taking it out, would change; nothing is written unseen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.export.masking import DiffFile, masked_diff
from app.export.plan import Plan
from ui.look.theme import Theme
from ui.pages.hosts.change_sheet import ChangeSheet

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


class HookSheet(ChangeSheet):
    """The hook's difference."""

    def __init__(self, theme: Theme, home: Path, parent: QWidget | None = None) -> None:
        super().__init__(theme, home, "hook", parent)
        self.preview: HookPreview | None = None
        self.write.clicked.connect(self._write)

    def show_preview(self, preview: HookPreview) -> None:
        """Show what would be written."""
        self.preview = preview
        what = "Suggest tools for each prompt" if preview.wanted else "No more suggestions"
        self.title.setText(f"{what}: {preview.plan.host.name}")
        self.show_files(preview.files, preview.sentences)
        self.write.setText("Write hook" if preview.wanted else "Take the hook out")

    def _write(self) -> None:
        if self.preview is not None:
            self.write_wanted.emit(self.preview.plan)
