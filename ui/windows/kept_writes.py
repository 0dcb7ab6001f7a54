"""Host writes of earlier runs as steps of the window's undo: they are in the store."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.core.context import Db
from ui.shell.services import Services

if TYPE_CHECKING:
    from app.export.kept_writes import KeptWrite
    from app.export.plan import Plan
    from ui.pages.hosts.page import HostsPage


def _read(db: Db) -> "tuple[KeptWrite, ...]":
    from app.export.kept_writes import kept_writes  # as all of export, not needed at the start

    kept = kept_writes(db)
    if kept:
        import ui.pages.hosts.page  # noqa: F401  (on the GUI thread an import stops the window)
    return kept


class KeptWrites(QObject):
    """Puts the writes in force on the undo stack, the oldest first."""

    def __init__(
        self, services: Services, hosts_page: "Callable[[], HostsPage]", parent: QObject
    ) -> None:
        super().__init__(parent)
        self._services, self._hosts_page = services, hosts_page

    def read(self) -> None:
        """Look into the store; for a stack that no step of this run is on yet."""
        self._services.tasks.request(_read, self._push)

    def _push(self, kept: "tuple[KeptWrite, ...]") -> None:
        undo = self._services.undo
        if not kept or undo.count():  # a step of this run came first: the order would be wrong
            return
        from ui.pages.hosts.commands import WriteCommand
        from ui.pages.hosts.session import HostsSession, WrittenFiles, when

        desk = HostsSession(self._services, self)
        desk.kept.connect(lambda error, one: self._hosts_page().show_kept(error, one))
        for one in kept:
            written = WrittenFiles(one.plan, one.ids)
            undo.push(WriteCommand(written, desk, undo, self._preview, on=when(one.at)))

    def _preview(self, plan: "Plan") -> None:
        self._hosts_page().preview_again(plan)
