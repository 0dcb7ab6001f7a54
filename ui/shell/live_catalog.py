"""The catalogue that every view of the window shows: one value, loaded and changed here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.catalog.catalog import (
    Catalog,
    CatalogTool,
    change_settings,
    load_catalog,
    outline,
    set_on,
    set_pinned,
    version,
)
from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.settings import with_settings
from app.policy.profile_policy import file_of, follow
from app.policy.profiles import DEFAULT, names
from app.safety.review import ReviewItem, known_findings, review_items
from store.records import Finding, ProfileFile
from ui.shell.tasks import Tasks
from ui.widgets.shares import ServerPlaces

_SETTLE_MS = 200  # time for more writes after one by another process


@dataclass(frozen=True, slots=True)
class _Read:
    """Result of one reading of the store."""

    version: int
    outline: tuple[object, ...]
    wanted: str  # the profile asked for; the catalogue is of another one where that is gone
    profiles: tuple[str, ...]
    findings: tuple[Finding, ...]
    catalog: Catalog
    file: ProfileFile | None


class LiveCatalog(QObject):
    """The catalogue of one profile; ticks show at once and are written behind.

    Signals: loaded() after it was read again; leaving() when another profile is to be shown: until
    it is loaded, what is in view is not what a change would concern; strayed() when steps made so
    far may concern another profile than the one in view; toggled(frozenset of tool row ids) after
    ticks or pins; written() after any other connection wrote to the store; configured() after the
    profile's settings changed; altered() after loaded, toggled and configured alike;
    failed(ToolcribError) when it could not be read or written;
    lost(name) when the profile in view is gone; why(row id) when the Playground is to explain that
    tool, review(row id) and sought(row id) when Review or Catalog is to show it;
    requests_wanted() when the Catalog is to offer to have requests written; servers_wanted(query)
    when it is to find listed servers for a query.
    """

    loaded = Signal()
    leaving = Signal()
    strayed = Signal()
    toggled = Signal(object)
    configured = Signal()
    altered = Signal()
    written = Signal()
    why = Signal(int)
    review = Signal(int)
    sought = Signal(int)
    server_sought = Signal(str)
    requests_wanted = Signal()
    servers_wanted = Signal(str)
    failed = Signal(object)
    lost = Signal(str)

    def __init__(self, tasks: Tasks, profile: str = "default") -> None:
        super().__init__(tasks)
        self.loaded.connect(self.altered)
        self.toggled.connect(lambda _ids: self.altered.emit())
        self.configured.connect(self.altered)
        self._tasks = tasks
        self.profile = profile
        self.places = ServerPlaces()  # of servers, for their colours
        self.profiles: tuple[str, ...] = ()  # all there are, the oldest first
        self.catalog: Catalog | None = None  # None until the first load
        self.file: ProfileFile | None = None  # that the profile's values come from
        self._findings: tuple[Finding, ...] = ()
        # what they were worked out of, and the items; settings change without them
        self._items: tuple[Sequence[CatalogTool], object, tuple[ReviewItem, ...]] = ((), None, ())
        self._by_id: dict[int, CatalogTool] = {}
        self._version: int | None = None  # of the store, as other connections wrote it
        self._outline: tuple[object, ...] = ()  # of what was loaded
        self._looked: int | None = None  # version of the store at the last look
        self._files = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=_SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self._look)
        tasks.closing.connect(self._unfollow)
        self._own = 0  # changes of ours that are still being written
        tasks.changed.connect(self._on_changed)

    @property
    def total(self) -> int:
        """Tokens of what a host may get."""
        return sum(t.cost for t in self.catalog.shown) if self.catalog else 0

    @property
    def empty(self) -> bool:
        """True if no server is known."""
        return self.catalog is None or not self.catalog.servers

    @property
    def items(self) -> tuple[ReviewItem, ...]:
        """Tools with findings, those that wait for a decision first."""
        if self.catalog is None:
            return ()
        tools, findings = self.catalog.tools, self._findings
        if self._items[0] is not tools or self._items[1] is not findings:
            self._items = (tools, findings, review_items(self.catalog, findings))
        return self._items[2]

    def tool(self, tool_id: int) -> CatalogTool | None:
        """The tool with that row id, as it is now."""
        return self._by_id.get(tool_id)

    def load(self) -> None:
        """Read the catalogue from the store."""
        wanted, encoding = self.profile, self._tasks.ctx.settings.encoding

        def read(db: Db) -> _Read:
            profiles = names(db)
            profile = wanted if wanted in profiles else DEFAULT  # the command line may delete one
            file = follow(db, profile)
            seen = outline(db, profile)  # before the rest: what comes meanwhile is loaded again
            number = version(db)
            catalog = load_catalog(db, profile, encoding)
            return _Read(number, seen, wanted, profiles, known_findings(db), catalog, file)

        self._tasks.request(read, self._on_loaded, self._on_failed)

    def show_profile(self, name: str) -> None:
        """See the catalogue as another profile does; it is read and `loaded` then.

        Changes concern that profile at once, so that steps undone one after the other go right.
        """
        self.profile = name
        if not self.in_view:
            self.leaving.emit()
        self.load()

    def refresh(self) -> None:
        """Read the catalogue again if another process wrote to the store."""
        self._tasks.request(version, self._on_version, self._on_failed)

    def follow(self) -> None:
        """From now on, show what another process changes as it changes it.

        The system tells of writes to the store's files; where it cannot, `refresh` is what is left.
        """
        self._files.fileChanged.connect(self._settle_soon)
        self._files.directoryChanged.connect(self._settle_soon)  # the log of writes comes and goes
        self._settle_soon()

    def _unfollow(self) -> None:
        self._settle.stop()
        if watched := [*self._files.files(), *self._files.directories()]:
            self._files.removePaths(watched)

    def _settle_soon(self) -> None:
        if not self._settle.isActive():  # who writes without end is followed all the same
            self._settle.start()

    def _look(self) -> None:
        file = self._tasks.ctx.paths.database
        wanted = (file.parent, file, file.with_name(f"{file.name}-wal"))
        watched = {*self._files.files(), *self._files.directories()}
        if missing := [str(path) for path in wanted if str(path) not in watched and path.exists()]:
            self._files.addPaths(missing)
        profile = self.profile
        self._tasks.latest(
            "outline", lambda db: (version(db), outline(db, profile)), self._on_outline, _ignore
        )

    def _on_outline(self, seen: tuple[int, tuple[object, ...]]) -> None:
        before = self._version if self._looked is None else self._looked
        if before not in (None, seen[0]):
            self.written.emit()
        self._looked = seen[0]
        if self._version not in (None, seen[0]) and seen[1] != self._outline:
            self.load()

    def show(self, catalog: Catalog) -> None:
        """Take a catalogue that was read."""
        self.catalog = catalog
        self._by_id = {t.tool.id: t for t in catalog.tools}
        self.loaded.emit()

    def set_on(self, tool_ids: Iterable[int], on: bool) -> None:
        """Tick tools on or off, here and in the store."""
        ids, profile = tuple(tool_ids), self.profile
        self._replace({i: replace(self._by_id[i], on=on) for i in ids if i in self._by_id})
        self._write(profile, lambda db: set_on(db, profile, ids, on))

    def set_pinned(self, tool_ids: Iterable[int], pinned: bool) -> None:
        """Pin or unpin tools, here and in the store."""
        ids, profile = tuple(tool_ids), self.profile
        self._replace({i: replace(self._by_id[i], pinned=pinned) for i in ids if i in self._by_id})
        self._write(profile, lambda db: set_pinned(db, profile, ids, pinned))

    def stay(self, name: str) -> None:
        """Show this profile after all: a step to another one was refused."""
        self.show_profile(name)
        self.strayed.emit()

    def change_settings(self, parts: Mapping[str, object]) -> None:
        """Replace some of the profile's settings, as budget or gateway.pool, here and there."""
        profile = self.profile
        if self.catalog is not None and self.in_view:
            settings = with_settings(self.catalog.settings, parts)
            self.catalog = replace(self.catalog, settings=settings)
            self.configured.emit()
        self._write(profile, lambda db: change_settings(db, profile, parts))

    @property
    def in_view(self) -> bool:
        """True if the catalogue is of the profile that changes concern."""
        return self.catalog is not None and self.catalog.profile.name == self.profile

    def _replace(self, changed: dict[int, CatalogTool]) -> None:
        if self.catalog is None or not self.in_view or not changed:
            return
        self._by_id |= changed
        tools = tuple(changed.get(t.tool.id, t) for t in self.catalog.tools)
        self.catalog = replace(self.catalog, tools=tools)
        self.toggled.emit(frozenset(changed))

    def _write(self, profile: str, change: Callable[[Db], Changes]) -> None:
        """Write a change to the store, and to the profile's policy file where it has one."""
        ctx = self._tasks.ctx

        def write(db: Db) -> Changes:
            if file_of(db, profile) is None:
                return change(db)
            from app.export.policy_writing import change_profile  # not needed for the start

            at = ctx.clock()
            return change_profile(db, profile, ctx.paths, at, lambda: change(db))

        self._own += 1
        self._tasks.change(write, self._on_written, self._on_unwritten, by=self)

    def _on_loaded(self, read: _Read) -> None:
        if self._own or read.wanted != self.profile:  # read before a change of ours was written
            self.load()
            return
        self._version, self.profiles, self._findings = read.version, read.profiles, read.findings
        self._outline = read.outline
        self.profile = read.catalog.profile.name
        self.file = read.file
        self.show(read.catalog)
        if read.wanted != self.profile:
            self.strayed.emit()
            self.lost.emit(read.wanted)

    def _on_version(self, number: int) -> None:
        if self._version is not None and self._version != number:
            self.load()

    def _on_changed(self, changes: Changes, by: object) -> None:
        if by is not self and (changes.servers or changes.tools or changes.profile):
            self.load()

    def _on_written(self, _changes: Changes) -> None:
        self._own -= 1

    def _on_unwritten(self, error: ToolcribError) -> None:
        self._own -= 1
        self.failed.emit(error)
        self.load()

    def _on_failed(self, error: ToolcribError) -> None:
        if self.catalog is not None and not self.in_view:  # what is in view can be changed again
            self.profile = self.catalog.profile.name
            self.strayed.emit()
            self.loaded.emit()
        self.failed.emit(error)


def _ignore(_error: ToolcribError) -> None:
    """Do nothing: the next look tries again, and a writer sees its own error."""
