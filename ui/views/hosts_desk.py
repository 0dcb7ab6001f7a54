"""Asks and changes host files in the background; late answers are dropped."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from app.catalog import load_catalog
from app.changes import Changes
from app.context import Db
from app.errors import ToolcribError
from app.export.apply import apply, restore, restore_all, undo
from app.export.backups import Backup
from app.export.overview import survey
from app.export.plan import Plan
from ui.models.diff_rows import DiffRow
from ui.models.host_preview import Preview, backup_diff, load_preview
from ui.services import Services


@dataclass(frozen=True, slots=True)
class Written:
    """A write that was made: the host, how, and the ids of its records."""

    plan: Plan
    ids: tuple[int, ...]


class HostsDesk(QObject):
    """The hosts' states and the preview of one of them.

    Signals: surveyed(tuple of HostStatus); previewed(Preview); wrote(Written); refused(error)
    when nothing was written; kept(error, ids) when a write could not be taken back; failed(error)
    for anything else.
    """

    surveyed = Signal(object)
    previewed = Signal(object)
    wrote = Signal(object)
    refused = Signal(object)
    kept = Signal(object, object)
    failed = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._survey = 0  # number of the latest survey: older answers are stale
        self._preview = 0

    def survey(self) -> None:
        """Look at every host's files."""
        catalog, places = self._services.live.catalog, self._services.places
        if catalog is None:
            return
        self._survey += 1
        number = self._survey
        self._services.tasks.ask(
            lambda db: survey(db, places, catalog),
            lambda rows: self.surveyed.emit(rows) if number == self._survey else None,
            self.failed.emit,
        )

    def preview(self, host_id: str, mode: str) -> None:
        """Plan writing one host."""
        live, ctx, places = self._services.live, self._services.ctx, self._services.places
        catalog = live.catalog
        self._preview += 1
        if catalog is None:
            return
        number = self._preview
        self._services.tasks.ask(
            lambda db: load_preview(db, ctx, places, catalog=catalog, host_id=host_id, mode=mode),
            lambda found: self.previewed.emit(found) if number == self._preview else None,
            self.failed.emit,
        )

    def write(self, preview: Preview, *, insist: bool = False) -> None:
        """Write what was previewed; `wrote` or `refused` follows."""
        plan, ctx = preview.plan, self._services.ctx
        ids: list[int] = []

        def change(db: Db) -> Changes:
            ids.extend(record.id for record in apply(plan, ctx, db, insist=insist))
            return Changes(hosts=True, exports=True)

        self._change(change, lambda: self.wrote.emit(Written(plan, tuple(ids))))

    def write_again(self, plan: Plan, done: Callable[[tuple[int, ...]], None]) -> None:
        """Plan the same anew and write at once, for redo; whatever profile is in view."""
        ctx, places = self._services.ctx, self._services.places
        ids: list[int] = []

        def change(db: Db) -> Changes:
            catalog = load_catalog(db, plan.profile, ctx.settings.encoding)
            found = load_preview(
                db, ctx, places, catalog=catalog, host_id=plan.host.id, mode=plan.mode
            )
            if found.blocked:
                raise ToolcribError(found.blocked)
            ids.extend(record.id for record in apply(found.plan, ctx, db))
            return Changes(hosts=True, exports=True)

        self._change(change, lambda: done(tuple(ids)))

    def undo(self, ids: tuple[int, ...], done: Callable[[], None]) -> None:
        """Take writes back byte for byte, unless a file changed since."""
        ctx = self._services.ctx

        def change(db: Db) -> Changes:
            for export_id in reversed(ids):
                undo(export_id, ctx, db)
            return Changes(hosts=True, exports=True)

        self._services.tasks.change(
            change, lambda _changes: done(), lambda error: self.kept.emit(error, ids)
        )

    def compare(self, backup: Backup, done: Callable[[tuple[DiffRow, ...]], None]) -> None:
        """What restoring a copy would change."""
        self._services.tasks.ask(lambda _db: backup_diff(backup), done, self.failed.emit)

    def restore(self, backup: Backup, done: Callable[[], None]) -> None:
        """Put a copy back, whatever the file holds now."""
        ctx = self._services.ctx

        def change(db: Db) -> Changes:
            restore(backup, ctx, db)
            return Changes(hosts=True, exports=True)

        self._change(change, done)

    def restore_all(self, done: Callable[[int], None]) -> None:
        """Put every host file back to what it was before Toolcrib; done(number of files)."""
        ctx = self._services.ctx
        files: set[str] = set()

        def change(db: Db) -> Changes:
            files.update(record.file for record in restore_all(ctx, db))
            return Changes(hosts=True, exports=True)

        self._change(change, lambda: done(len(files)))

    def _change(self, change: Callable[[Db], Changes], done: Callable[[], None]) -> None:
        self._services.tasks.change(change, lambda _changes: done(), self.refused.emit)


def when(at: float) -> str:
    """A time as the backups show it."""
    return datetime.fromtimestamp(at).strftime("%d %b %Y, %H:%M:%S")
