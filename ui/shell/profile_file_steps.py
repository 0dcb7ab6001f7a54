"""Steps on the policy file of a profile, each undoable."""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.export.policy_writing import FileStep, put_back, save_text
from ui.shell.tasks import Tasks

Failed = Callable[[ToolcribError], None]


class FileChoice(QUndoCommand):
    """The profile takes its values from a file, from another one or from none."""

    def __init__(
        self,
        tasks: Tasks,
        profile: str,
        *,
        text: str,
        choose: Callable[[Db], FileStep],
        failed: Failed,
    ) -> None:
        super().__init__(text)
        self._tasks = tasks
        self._profile = profile
        self._choose = choose
        self._failed = failed
        self._before: FileStep | None = None  # known to the store thread only

    def redo(self) -> None:
        """Choose it."""
        self._tasks.change(self._make, failed=self._failed)

    def undo(self) -> None:
        """Go back to the values and the file before."""
        self._tasks.change(self._take_back, failed=self._failed)

    def _make(self, db: Db) -> Changes:
        self._before = self._choose(db)
        return Changes(profile=True)

    def _take_back(self, db: Db) -> Changes:
        if self._before is None:
            return Changes()
        return put_back(db, self._profile, self._before)


class FileText(QUndoCommand):
    """Another text for the file; undo writes the old one, unless the file changed since."""

    def __init__(
        self, tasks: Tasks, profile: str, texts: tuple[bytes, bytes], failed: Failed
    ) -> None:
        super().__init__(f"Edit the policy file of {profile}")
        self._tasks = tasks
        self._profile = profile
        self._old, self._new = texts
        self._failed = failed

    def redo(self) -> None:
        """Write the new text."""
        self._write(self._old, self._new)

    def undo(self) -> None:
        """Write the old text."""
        self._write(self._new, self._old)

    def _write(self, expected: bytes, new: bytes) -> None:
        ctx: AppContext = self._tasks.ctx
        profile, at = self._profile, ctx.clock()

        def write(db: Db) -> Changes:
            return save_text(db, profile, (expected, new), paths=ctx.paths, at=at)

        self._tasks.change(write, failed=self._failed)
