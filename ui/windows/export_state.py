"""Texts on the hosts for the toolbar's button and the sidebar, without opening their page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.core.changes import Changes
from app.core.context import Db
from app.core.text import plural
from ui.shell.services import Services

if TYPE_CHECKING:
    from app.host_status.status import HostStatus

_REST_MS = 250  # ticks that follow each other are looked at together


class ExportState(QObject):
    """Looks at the hosts' files in the background after every change.

    Signals: described(words of the button, its tooltip, True if there is anything to do);
    waiting(text, tone) of the badge beside Hosts; surveyed(tuple of HostStatus).
    """

    described = Signal(str, str, bool)
    waiting = Signal(str, str)
    surveyed = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._timer = QTimer(self, interval=_REST_MS, singleShot=True)
        self._timer.timeout.connect(self._inspect)
        services.live.altered.connect(self._timer.start)
        services.tasks.changed.connect(self._on_task)

    def _on_task(self, changes: Changes) -> None:
        if changes.hosts or changes.exports:
            self._timer.start()

    def _inspect(self) -> None:
        catalog, places = self._services.live.catalog, self._services.places
        ctx = self._services.ctx
        if catalog is None:
            return

        def inspect_hosts(db: Db) -> "tuple[HostStatus, ...]":
            from app.gateway.backend.http_access import endpoint
            from app.host_status.digest import note_sizes
            from app.host_status.overview import survey  # not needed for the window's start
            from app.host_status.sizes import host_sizes

            statuses = survey(db, places, catalog, endpoint=endpoint(ctx))
            note_sizes(db, catalog, host_sizes(statuses, catalog), ctx.clock())
            return statuses

        self._services.tasks.latest(
            self,
            inspect_hosts,
            self._show,
            lambda _error: None,  # the Hosts page says what is wrong
        )

    def _show(self, rows: "Sequence[HostStatus]") -> None:
        from ui.shell.host_state import hosts_badge  # as all of export, not needed at the start

        self.surveyed.emit(rows)
        number, tip, useful = button_words(rows)
        self.waiting.emit(*hosts_badge(rows))
        words = f"Export {plural(number, 'change')}…" if number else "Export to hosts…"
        self.described.emit(words, tip, useful)


def button_words(rows: "Sequence[HostStatus]") -> tuple[int, str, bool]:
    """Number of changes that wait, the button's tooltip, and True if pressing it helps."""
    from app.host_status.status import CHANGES, NOT_FOUND
    from store.records import AS_IS
    from ui.shell.host_state import urgency

    here = [row for row in rows if row.state != NOT_FOUND]
    if not here:
        return 0, "No host was found on this computer", True
    number = sum(row.changes for row in here if row.state == CHANGES)
    names = ", ".join(row.host.name for row in here if row.state == CHANGES)
    if number:
        return number, f"Not written yet: {names} (Ctrl+E)", True
    synced = all(urgency(row) > 1 and not row.problem for row in here)
    if synced and any(row.mode != AS_IS for row in here):
        return 0, "All hosts are in sync", False
    return 0, "See what each host would get, and write its config (Ctrl+E)", True
