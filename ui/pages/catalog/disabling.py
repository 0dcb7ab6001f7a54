"""Disabling servers in Toolcrib, as an undo step: it neither starts nor serves them."""

from PySide6.QtGui import QUndoCommand

from app.catalog.catalog import set_disabled
from store.records import ServerRecord
from ui.shell.tasks import Tasks


class DisableServer(QUndoCommand):
    """A server is left alone, or no longer; no host's file changes."""

    def __init__(self, tasks: Tasks, server: ServerRecord, disabled: bool) -> None:
        super().__init__(f"{'Disable' if disabled else 'Enable'} {server.name}")
        self._tasks, self._id, self._disabled = tasks, server.id, disabled

    def redo(self) -> None:
        """Do it."""
        self._set(self._disabled)

    def undo(self) -> None:
        """Take it back."""
        self._set(not self._disabled)

    def _set(self, disabled: bool) -> None:
        self._tasks.change(lambda db: set_disabled(db, [self._id], disabled))
