"""Undo steps of the Review page."""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.catalog.catalog import approve_texts, reopen_texts
from app.core.changes import Changes
from app.core.context import Db
from app.safety.review import ToolDecisions, undo_decision
from store.records import ServerRecord
from store.typed import Json
from ui.shell.tasks import Tasks


class ApproveTexts(QUndoCommand):
    """A server's own texts reach hosts as they are; undo lets them wait again."""

    def __init__(self, tasks: Tasks, server: ServerRecord) -> None:
        super().__init__(f"Approve the texts of {server.name}")
        self._tasks, self._id = tasks, server.id
        self._before: list[Json] = []

    def redo(self) -> None:
        """Approve."""
        self._tasks.change(lambda db: approve_texts(db, self._id, self._before))

    def undo(self) -> None:
        """Take it back."""
        self._tasks.change(lambda db: reopen_texts(db, self._id, self._before))


class DecisionCommand(QUndoCommand):
    """A decision that was just made: undo takes it back, redo makes it again."""

    def __init__(
        self,
        tasks: Tasks,
        *,
        text: str,
        tool_id: int,
        before: ToolDecisions,
        again: Callable[[Db], Changes],
    ) -> None:
        super().__init__(text)
        self._tasks = tasks
        self._tool_id = tool_id
        self._before = before
        self._again = again
        self._made = True

    def redo(self) -> None:
        """Make it again; the first time it is made already."""
        if not self._made:
            self._tasks.change(self._again)
        self._made = False

    def undo(self) -> None:
        """Take it back."""
        tool_id, before = self._tool_id, self._before
        self._tasks.change(lambda db: undo_decision(db, tool_id, before))
