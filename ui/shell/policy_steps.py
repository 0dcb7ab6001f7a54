"""Decisions on policy files of projects, as undo steps."""

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import Db
from app.policy.project_policy import ProjectPolicy, decide, put_back
from store.records import PolicyTrust
from ui.shell.tasks import Tasks


class PolicyDecision(QUndoCommand):
    """One text of a file is trusted or put off."""

    def __init__(self, tasks: Tasks, policy: ProjectPolicy, at: float, *, yes: bool) -> None:
        super().__init__(f"{'Trust' if yes else 'Put off'} {policy.path}")
        self._tasks = tasks
        self._policy = policy
        self._at = at
        self._yes = yes
        self._before: PolicyTrust | None = None  # known to the store thread only

    def redo(self) -> None:
        """Decide."""
        self._tasks.change(self._decide)

    def undo(self) -> None:
        """Go back to the decisions before."""
        self._tasks.change(self._put_back)

    def _decide(self, db: Db) -> Changes:
        self._before = decide(db, self._policy, self._at, yes=self._yes)
        return Changes(policies=True)

    def _put_back(self, db: Db) -> Changes:
        if self._before is not None:
            put_back(db, self._policy.path, self._before, self._at)
        return Changes(policies=True)
