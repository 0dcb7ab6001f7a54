"""Tools that a host's model gets by the host's present files: the one source of every number.

Strip, Hosts, Budget, command line and plans count here, a plan also with the files that it would
write. A server that was not read, or whose entry names another program since, counts nothing and
is named in `unread`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.catalog.catalog import Catalog, CatalogTool
from app.export.matching import find_server, names_another
from app.export.model_tools import LEFT_ALONE, ModelTools, as_sent, with_menu
from app.hosts.facts import HostFacts
from app.hosts.reading import FoundEntry, HostReading
from store.records import AS_IS, NATIVE, PRUNED, THROUGH, ServerRecord


@dataclass(frozen=True, slots=True)
class FileTools:
    """The way a host gets its tools by its files, and the tools."""

    mode: str
    sent: ModelTools
    behind: tuple[str, ...] = ()  # names of the servers that its one entry reaches
    narrowed: bool = True  # False: an earlier build wrote the entry, which reaches every server
    unread: tuple[str, ...] = ()  # names of entries whose tools are not known


def of_user(reading: HostReading, entry: FoundEntry | None = None) -> bool:
    """True if a file, or an entry of it, counts outside any project."""
    local = entry is not None and entry.scope.startswith("local:")
    return reading.scope != "project" and not local


def of_project(reading: HostReading, _entry: FoundEntry | None = None) -> bool:
    """True if a file belongs to the project."""
    return reading.scope == "project"


def file_tools(
    host: HostFacts,
    catalog: Catalog,
    readings: Sequence[HostReading],
    *,
    native: bool,
    beside: Collection[str] = (),
    counts: Callable[[HostReading, FoundEntry | None], bool] = of_user,
) -> FileTools:
    """The tools of those files that count.

    `native`: the host's own switches in its files hide what is off, by a write of Toolcrib, but for
    the entries named in `beside`, which came later. Switches in the entries themselves are read.
    """
    route = host.native
    switched = native and route is not None and route.route != "entry" and not route.partial
    brought = _Brought()
    for reading, entry, server, known in _entries(catalog, readings, counts):
        if server is None or names_another(entry, server):
            brought.unread.append(entry.name)
            continue
        rows = [row for row in known.of_server(server.id) if row.usable]
        if not rows and not server.read_at:
            brought.unread.append(entry.name)
        ours = known is catalog and reading.scope not in LEFT_ALONE and entry.name not in beside
        hidden = bool(entry.pruned) or (switched and ours and server.trusted)
        kept = [row for row in rows if (row.shown or not hidden) and not entry.hides(row.tool.name)]
        if rows:
            brought.take(entry, server, kept)
    own = _once(brought.own)
    sent = replace(as_sent(host, own), direct=tuple(_once(brought.direct)))
    entries = [one for one in readings if one.through and counts(one, None)]
    if not entries:
        mode = PRUNED if brought.pruned else NATIVE if native else AS_IS
        return FileTools(mode, sent.with_again(host, brought.again), unread=tuple(brought.unread))
    lists = [one.behind for one in entries]
    reached = {name for behind in lists if behind is not None for name in behind}
    served = catalog if None in lists else catalog.only(reached)
    return FileTools(
        THROUGH,
        with_menu(host, sent, own, served).with_again(host, brought.again),
        tuple(server.name for server in served.servers),
        None not in lists,
        tuple(brought.unread),
    )


@dataclass(slots=True)
class _Brought:
    """Tools that entries bring, as they are met."""

    own: list[CatalogTool] = field(default_factory=list)
    direct: list[CatalogTool] = field(default_factory=list)  # not through a gateway
    again: list[tuple[str, CatalogTool]] = field(default_factory=list)  # under a second name
    unread: list[str] = field(default_factory=list)
    pruned: bool = False
    _names: dict[int, set[str]] = field(default_factory=dict)  # of entries, by their server

    def take(self, entry: FoundEntry, server: ServerRecord, kept: Sequence[CatalogTool]) -> None:
        """Add the tools that the host gets by an entry of this server."""
        names = self._names.setdefault(server.id, set())
        if names and entry.name not in names:
            self.again += [(entry.name, row) for row in kept]
        if kept:
            names.add(entry.name)
        self.own += kept
        if entry.pruned:
            self.pruned = True
        else:
            self.direct += kept


def _entries(
    catalog: Catalog,
    readings: Sequence[HostReading],
    counts: Callable[[HostReading, FoundEntry | None], bool],
) -> Iterator[tuple[HostReading, FoundEntry, ServerRecord | None, Catalog]]:
    """Entries that count, each with its server and the catalogue that has the server's tools."""
    for reading in readings:
        for entry in reading.entries:
            if not entry.disabled and counts(reading, entry):
                yield reading, entry, *_server_of(catalog, reading, entry)


def _server_of(
    catalog: Catalog, reading: HostReading, entry: FoundEntry
) -> tuple[ServerRecord | None, Catalog]:
    """The server of an entry; one that the profile leaves out stays in the host's file."""
    for known in (catalog, catalog.left_out):
        if known is not None:
            server = find_server(known, reading, entry) or _in_another_place(known, reading, entry)
            if server is not None:
                return server, known
    return None, catalog


def _in_another_place(
    catalog: Catalog, reading: HostReading, entry: FoundEntry
) -> ServerRecord | None:
    """The server that the host called so where its file was when it was read last."""
    wanted = (reading.host.id, entry.scope, entry.name)
    return next(
        (
            server
            for server in catalog.servers
            for one in server.entries
            if (one.host, one.scope, one.name) == wanted
        ),
        None,
    )


def _once(rows: Sequence[CatalogTool]) -> list[CatalogTool]:
    return list({row.tool.id: row for row in rows}.values())
