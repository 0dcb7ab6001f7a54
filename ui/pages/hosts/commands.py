"""Writing a host's file as an undo step: undo takes that write back, not what came since."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QUndoStack

from app.core.errors import ToolcribError
from app.export.plan import REMOVE, Plan
from store.records import HOOK
from ui.pages.hosts.hook_sheet import LISTED, WORDS, about_of
from ui.pages.hosts.session import HostsSession, WrittenFiles
from ui.shell.actions import LateCommand


def _step(plan: Plan) -> str:
    if plan.change is not None:
        where = "from" if plan.change.kind == REMOVE else "in"
        return f"{plan.change.words} {where}"
    if plan.mode != HOOK:
        restored = any(file.ends for file in plan.files)
        return "Restore files of" if restored else "Write config of"
    if about_of(plan) == WORDS:
        return "Write rules snippet of" if plan.profile else "Take rules snippet out of"
    if about_of(plan) == LISTED:
        return "Narrow the list of"
    return "Suggest tools in" if plan.profile else "Stop suggesting tools in"


class WriteCommand(LateCommand):
    """A write that was made.

    Whether it can be taken back is known only when the files were looked at: a refused undo leaves
    the step on the stack as done. Redo writes nothing: it shows what writing would change by then.
    """

    def __init__(
        self,
        written: WrittenFiles,
        desk: HostsSession,
        stack: QUndoStack,
        show_preview: Callable[[Plan], None],
        *,
        on: str = "",
    ) -> None:
        """`on` is the day and time of a write that an earlier run of the window made."""
        name = f"{_step(written.plan)} {written.plan.host.name}"
        super().__init__(f"{name} ({on})" if on else name)
        self._plan, self._files, self._desk = written.plan, written, desk
        self._stack, self._show_preview = stack, show_preview
        self._written = True
        self.quiet = bool(on)  # the window has no news of it

    def again(self) -> None:
        """Show what writing again would change; the step stays to be redone."""
        self._show_preview(self._plan)
        QTimer.singleShot(0, lambda: self.follow(self._stack, done=False))

    def take_back(self) -> None:
        """Take the write back; refused when the places that it changed were changed since."""
        if self._written:
            self._written = False
            self._desk.undo(self._files, self._on_undone, self._on_refused)

    def _on_undone(self) -> None:
        self._desk.show_status(f"Undone: {self.text()}")

    def _on_refused(self, _error: ToolcribError) -> None:
        self._written = True
        self.follow(self._stack, done=True)
