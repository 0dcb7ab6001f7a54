"""Preview of a change to one server in a host's file; nothing is written unseen."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import Signal

from app.export.masking import DiffFile, masked_diff
from app.export.plan import DISABLE, REMOVE, EntryChange, Plan
from ui.look.theme import Theme
from ui.pages.hosts.change_sheet import ChangeSheet
from ui.widgets.push_button import push_button

_BUTTONS = {REMOVE: "Remove from the file"}


@dataclass(frozen=True, slots=True)
class EntryPreview:
    """The plan of one entry's change, with its file as it may be shown."""

    plan: Plan
    change: EntryChange
    files: tuple[DiffFile, ...]

    @classmethod
    def of(cls, plan: Plan, change: EntryChange) -> "EntryPreview":
        """Masked like every host file."""
        return cls(plan, change, masked_diff(plan))

    @property
    def sentences(self) -> Iterator[str]:
        """Facts to know before writing."""
        if self.plan.refusal:
            yield self.plan.refusal
        yield from self.plan.warnings
        if self.plan.also_read_by:
            yield f"Also read by {', '.join(self.plan.also_read_by)}."


class EntrySheet(ChangeSheet):
    """The entry's difference, and removal where a host cannot switch a server off.

    Signals: change_wanted(EntryChange) instead of the one shown.
    """

    change_wanted = Signal(object)

    def __init__(self, theme: Theme, home: Path) -> None:
        super().__init__(theme, home, "entry")
        self.preview: EntryPreview | None = None
        self.instead = push_button("Remove it there…", self._remove_instead)
        self.foot.insertWidget(2, self.instead)

    def show_preview(self, preview: EntryPreview) -> None:
        """Show what would be written, or why it is not."""
        self.preview = preview
        change, plan = preview.change, preview.plan
        where = "from" if change.kind == REMOVE else "in"
        self.title.setText(f"{change.words} {where} {plan.host.name}")
        self.show_files(plan, preview.files, tuple(preview.sentences))
        if any(file.kept is not None for file in plan.files):
            self.path.setText(f"{self.path.text()}, as Toolcrib keeps it")
        self.close_button.setText("Close" if plan.refusal else "Cancel")
        if plan.refusal:
            self.hint.setText("Nothing was written.")
        self.instead.setVisible(change.kind == DISABLE and bool(plan.refusal))
        self.write.setText(_BUTTONS.get(change.kind, "Write config"))
        self.write.setVisible(not plan.refusal)

    def _remove_instead(self) -> None:
        if self.preview is not None:
            self.change_wanted.emit(replace(self.preview.change, kind=REMOVE))
