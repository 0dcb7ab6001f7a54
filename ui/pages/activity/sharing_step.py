"""Sharing of a server among hosts, as an undo step."""

from PySide6.QtGui import QUndoCommand

from app.gateway.sharing import PER_HOST, PER_SESSION, SHARED
from app.gateway.stored_sharing import choose_sharing
from ui.shell.tasks import Tasks

AUTO = ""  # Toolcrib's own decision
TITLES = {
    AUTO: "Toolcrib decides",
    SHARED: "One for all hosts",
    PER_HOST: "One per host",
    PER_SESSION: "One per session",
}


class Share(QUndoCommand):
    """Another choice for one server; sessions that start from then on follow it."""

    def __init__(self, tasks: Tasks, server: str, old: str, new: str) -> None:
        super().__init__(f"Switch {server} to “{TITLES[new].lower()}”")
        self._tasks = tasks
        self._server = server
        self._old, self._new = old, new

    def redo(self) -> None:
        """Keep the new choice."""
        self._keep(self._new)

    def undo(self) -> None:
        """Keep the old one again."""
        self._keep(self._old)

    def _keep(self, choice: str) -> None:
        name = self._server
        self._tasks.change(lambda db: choose_sharing(db, name, choice))
