"""Taking Toolcrib's own servers out of the catalog, as an undo step."""

from collections.abc import Sequence

from PySide6.QtGui import QUndoCommand

from app.core.text import plural
from app.registry.own_servers import bring_back, remove_own
from store.records import ServerRecord
from ui.shell.tasks import Tasks


class RemoveServers(QUndoCommand):
    """Servers that no host's file names leave the catalog; undo brings them back as they were."""

    def __init__(self, tasks: Tasks, servers: Sequence[ServerRecord]) -> None:
        name = servers[0].name if len(servers) == 1 else plural(len(servers), "server")
        super().__init__(f"Remove {name}")
        self._tasks, self._servers = tasks, tuple(servers)

    def redo(self) -> None:
        """Take them out."""
        self._tasks.change(lambda db: remove_own(db, self._servers))

    def undo(self) -> None:
        """Bring them back."""
        self._tasks.change(lambda db: bring_back(db, self._servers))
