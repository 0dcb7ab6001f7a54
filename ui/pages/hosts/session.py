"""Asks and changes host files in the background; late answers are dropped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from app.catalog.catalog import Catalog
from app.core.changes import Changes
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.export.apply import any_in_force, apply, restore, restore_all, undo_writes
from app.export.backups import Backup
from app.export.entries.plan import load_plan
from app.export.plan import EntryChange, Plan
from app.gateway.backend.http_access import endpoint
from app.gateway.backend.rendezvous import why_none
from app.hooks.entries import LIST
from app.hooks.files import change_plan, remove_all
from app.hooks.rules import rules_change
from app.host_status.drift import restore_effect
from app.host_status.entry_taken import register_entry, register_taken_back
from app.host_status.overview import survey
from app.host_status.own_search import OwnSearch, advised, evidence_key, look
from app.host_status.status import HostStatus
from app.hosts.facts import host
from store.records import THROUGH, ExportRecord
from ui.pages.hosts.entry_sheet import EntryPreview
from ui.pages.hosts.hook_sheet import HOOKS, LISTED, WORDS, HookPreview
from ui.pages.hosts.preview import backup_diff, load_preview
from ui.shell.services import Services
from ui.widgets.diff_rows import DiffRow


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """A write that was made: the host, how, and the ids of its records."""

    plan: Plan
    ids: tuple[int, ...]


class HostsSession(QObject):
    """The hosts' states and the preview of one of them.

    Signals: surveyed(tuple of HostStatus); previewed(Preview); hook_previewed(HookPreview);
    entry_previewed(EntryPreview); wrote(WrittenFiles); refused(error) when nothing was written;
    kept(error, WrittenFiles) when a write could not be taken back; failed(error) for anything else.
    """

    surveyed = Signal(object)
    previewed = Signal(object)
    hook_previewed = Signal(object)
    entry_previewed = Signal(object)
    wrote = Signal(object)
    refused = Signal(object)
    kept = Signal(object, object)
    failed = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._rows: tuple[HostStatus, ...] = ()
        self._evidence: dict[str, OwnSearch] = {}
        self._evidence_of = ""  # the key of labels and tools that it was made of

    def survey(self) -> None:
        """Look at every host's files."""
        catalog, places = self._services.live.catalog, self._services.places
        ctx = self._services.ctx
        home = str(ctx.paths.home)
        if catalog is None:
            return
        self._services.tasks.latest(
            (self, "survey"),
            lambda db: (
                survey(db, places, catalog, no_backend=why_none(home), endpoint=endpoint(ctx)),
                evidence_key(db, catalog),
            ),
            lambda seen: self._on_surveyed(*seen, catalog),
            self.failed.emit,
        )

    def _on_surveyed(self, rows: tuple[HostStatus, ...], key: str, catalog: Catalog) -> None:
        """The states at once, what the hosts' own search misses when it is counted."""
        self._rows = rows
        if key != self._evidence_of:
            self._evidence_of, self._evidence = key, {}
            if key:
                ctx = self._services.ctx
                self._services.tasks.work(
                    lambda _job: _look(ctx, rows, catalog),
                    lambda evidence: self._take_evidence(key, evidence),
                    failed=lambda _error: None,  # advice, nothing that was asked for
                )
        self._show_rows()

    def _take_evidence(self, key: str, evidence: dict[str, OwnSearch]) -> None:
        if key == self._evidence_of and evidence:
            self._evidence = evidence
            self._show_rows()

    def _show_rows(self) -> None:
        rows = (advised(row, self._evidence.get(row.host.id)) for row in self._rows)
        self.surveyed.emit(tuple(rows))

    def preview(
        self,
        host_id: str,
        mode: str,
        *,
        over_http: bool = False,
        also: Sequence[str] | None = None,
    ) -> None:
        """Plan writing one host; `over_http` with the endpoint's URL in its file, `also` are
        servers of other hosts, None those that were added before."""
        live, ctx, places = self._services.live, self._services.ctx, self._services.places
        catalog = live.catalog
        if catalog is None:
            return
        self._services.tasks.latest(
            (self, "preview"),
            lambda db: load_preview(
                db,
                ctx,
                places,
                catalog=catalog,
                host_id=host_id,
                mode=mode,
                endpoint=endpoint(ctx) if over_http else None,
                also=also if mode == THROUGH else None,
            ),
            self.previewed.emit,
            self.failed.emit,
            keychain=True,
        )

    def preview_hook(self, host_id: str, *, wanted: bool, about: str = HOOKS) -> None:
        """Plan writing a host's hook or rules, or taking them out."""
        live, places = self._services.live, self._services.places
        profile = live.profile

        def read(db: Db) -> HookPreview:
            facts = host(host_id)
            if about == WORDS:
                plan = rules_change(db, places, facts, profile=profile, wanted=wanted)
            else:
                form = LIST if about == LISTED else ""
                plan = change_plan(db, places, facts, profile=profile, wanted=wanted, form=form)
            return HookPreview.of(plan, wanted=wanted, about=about)

        self._services.tasks.latest(
            (self, "hook"), read, self.hook_previewed.emit, self.refused.emit
        )

    def preview_entry(self, change: EntryChange) -> None:
        """Plan changing one server's entry in a host's file."""
        ctx, places = self._services.ctx, self._services.places
        self._services.tasks.latest(
            (self, "entry"),
            lambda db: EntryPreview.of(load_plan(ctx, db, places, change), change),
            self.entry_previewed.emit,
            self.refused.emit,
            keychain=True,
        )

    def write(self, plan: Plan, *, insist: bool = False) -> None:
        """Write what was previewed; `wrote` or `refused` follows."""
        ctx = self._services.ctx
        ids: list[int] = []

        def change(db: Db) -> Changes:
            ids.extend(record.id for record in apply(plan, ctx, db, insist=insist))
            return self._taken_in(db, plan.change, undone=False)

        self._change(change, lambda: self.wrote.emit(WrittenFiles(plan, tuple(ids))))

    def undo(
        self,
        written: WrittenFiles,
        done: Callable[[], None],
        refused: Callable[[ToolcribError], None],
    ) -> None:
        """Take a write back, all files or none; `kept` and refused(error) if it cannot."""
        ctx = self._services.ctx

        def change(db: Db) -> Changes:
            if not any_in_force(written.ids, db):
                return Changes()  # "Restore all hosts" took it back, or another program
            records = undo_writes(tuple(reversed(written.ids)), ctx, db)
            if any(file.ends for file in written.plan.files):  # a restore, as of an earlier run
                return self._put_back(db, records)
            return self._taken_in(db, written.plan.change, undone=True)

        def keep(error: ToolcribError) -> None:
            refused(error)
            self.kept.emit(error, written)

        self._services.tasks.change(change, lambda _changes: done(), keep, keychain=True)

    def _taken_in(self, db: Db, change: EntryChange | None, *, undone: bool) -> Changes:
        """Changes that a write made; the catalogue follows a file whose servers were changed."""
        if change is None:
            return Changes(hosts=True, exports=True)
        names = (change.entry.name, change.name)
        if undone and change.name:
            names = (change.name, change.entry.name)
        ctx, places = self._services.ctx, self._services.places
        register_entry(ctx, db, places, change.entry, names)
        return Changes(hosts=True, exports=True, servers=True, tools=True)

    def _put_back(self, db: Db, done: Sequence[ExportRecord]) -> Changes:
        """Changes that restoring made; the catalogue follows the files."""
        register_taken_back(self._services.ctx, db, self._services.places, done)
        return Changes(hosts=True, exports=True, servers=True, tools=True)

    def show_server(self, name: str) -> None:
        """The server in the Catalog, where it can be read."""
        self._services.open_page("catalog")
        self._services.live.server_sought.emit(name)

    def show_status(self, text: str) -> None:
        """One sentence in the status bar."""
        self._services.show_status(text)

    def compare(self, backup: Backup, done: Callable[[tuple[DiffRow, ...]], None]) -> None:
        """Compare a copy with the present file, as restoring it would change that."""
        self._services.tasks.request(lambda _db: backup_diff(backup), done, self.failed.emit)

    def restore(self, backup: Backup, done: Callable[[], None]) -> None:
        """Put a copy back, whatever the file holds now."""
        ctx = self._services.ctx

        def change(db: Db) -> Changes:
            return self._put_back(db, [restore(backup, ctx, db)])

        self._change(change, done)

    def way_out(self, done: Callable[[tuple[str, ...], tuple[str, ...]], None]) -> None:
        """done(names of the hosts that restoring concerns, sentences for what it would drop)."""
        self._services.tasks.latest(
            (self, "way out"), restore_effect, lambda seen: done(*seen), self.failed.emit
        )

    def restore_all(self, done: Callable[[int], None]) -> None:
        """Restore every host file to its state before Toolcrib; done(number of files)."""
        ctx = self._services.ctx
        files: set[str] = set()
        problems: list[str] = []

        def change(db: Db) -> Changes:
            restored = restore_all(ctx, db)
            files.update(record.file for record in restored.records)
            problems.extend(f"Not restored: {problem}" for problem in restored.problems)
            taken = remove_all(ctx, db, words=True)
            files.update(map(str, taken.paths))
            problems.extend(f"A hook stays: {problem}" for problem in taken.problems)
            return self._put_back(db, restored.records)

        def say() -> None:
            done(len(files))
            for problem in problems:
                self.refused.emit(ToolcribError(problem))

        self._change(change, say)

    def _change(self, change: Callable[[Db], Changes], done: Callable[[], None]) -> None:
        tasks = self._services.tasks
        tasks.change(change, lambda _changes: done(), self.refused.emit, keychain=True)


def _look(ctx: AppContext, rows: tuple[HostStatus, ...], catalog: Catalog) -> dict[str, OwnSearch]:
    with ctx.store() as db:
        return look(db, ctx.paths, ctx.settings.model, rows, catalog)


def when(at: float) -> str:
    """A time as the backups show it."""
    return datetime.fromtimestamp(at).strftime("%d %b %Y, %H:%M:%S")
