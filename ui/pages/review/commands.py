"""Undo steps of the Review page."""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import Db
from app.safety.review import ToolDecisions, undo_decision
from ui.shell.tasks import Tasks


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
