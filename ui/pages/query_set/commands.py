"""Undo steps of the query set: labels made, changed and forgotten, and what was learned."""

from collections.abc import Sequence

from PySide6.QtGui import QUndoCommand

from app.ranking.learning.query_set import put_back
from store.records import LabelRecord
from ui.shell.query_set import QuerySet
from ui.shell.tasks import Tasks


class LabelsCommand(QUndoCommand):
    """Some labels instead of others."""

    def __init__(
        self,
        queries: QuerySet,
        *,
        text: str,
        removed: Sequence[LabelRecord] = (),
        added: Sequence[LabelRecord] = (),
    ) -> None:
        super().__init__(text)
        self._queries = queries
        self._removed, self._added = tuple(removed), tuple(added)

    def redo(self) -> None:
        """Apply."""
        self._queries.apply(removed=self._removed, added=self._added)

    def undo(self) -> None:
        """Take back."""
        self._queries.apply(removed=self._added, added=self._removed)


class LearnedCommand(QUndoCommand):
    """Set the model of past use to a state before or after a step; None is no model."""

    def __init__(
        self,
        tasks: Tasks,
        *,
        text: str,
        before: tuple[str, bytes] | None,
        after: tuple[str, bytes] | None,
    ) -> None:
        super().__init__(text)
        self._tasks = tasks
        self._before, self._after = before, after

    def redo(self) -> None:
        """Apply."""
        self._store(self._after)

    def undo(self) -> None:
        """Take back."""
        self._store(self._before)

    def _store(self, blob: tuple[str, bytes] | None) -> None:
        at = self._tasks.ctx.clock()
        self._tasks.change(lambda db: put_back(db, blob, at=at))
