"""Places what the hosts' files name in the store; starts nothing."""

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.endpoint import is_own_url
from app.hosts.display import LaunchText, launch_text
from app.hosts.facts import load_hosts
from app.hosts.launch import STDIO, LaunchSpec, missing, secrets_of
from app.hosts.places import Places
from app.hosts.reading import FoundEntry, HostReading, read_host, reads_file
from app.indexing.past_texts import hide_in_past
from app.indexing.reading import LEGACY
from app.secrets.secret_store import SecretStore, install_key
from app.signin.grant import forget
from store import exports, servers
from store.connection import transaction
from store.records import (
    COULD_NOT_START,
    HOOK,
    MANUAL,
    EntryRecord,
    ExportRecord,
    Launched,
    ServerRecord,
    ServerSpec,
)

_NOT_OURS = "It starts Toolcrib's gateway for the server {}, but Toolcrib did not write it."


@dataclass(frozen=True, slots=True)
class Target:
    """A server that can be read: how it is started and what it spoke last time."""

    server_id: int
    name: str
    launch: LaunchSpec
    era: str = LEGACY
    disabled: bool = False  # by every host that names it
    folder: str = ""  # where it is started when its entry says nothing: its project's

    def placed(self, home: Path) -> LaunchSpec:
        """The launch with its folder: the entry's, the project's or the user's own.

        Never the folder that Toolcrib is run in: npx and Python prefer what they find there.
        """
        if self.launch.transport != STDIO or self.launch.cwd.startswith(("~", "$", "{")):
            return self.launch
        folder = Path(self.folder or home) / self.launch.cwd
        missing = not self.launch.cwd and not folder.is_dir()
        return self.launch if missing else replace(self.launch, cwd=str(folder))

    @property
    def command(self) -> str:
        """Full command line, only credentials masked: the text that consent shows."""
        return self.text.line

    @property
    def text(self) -> LaunchText:
        """The command line in parts."""
        return launch_text(self.launch)


@dataclass(frozen=True, slots=True)
class RegisterResult:
    """Servers placed: ids of those named, the launch of each, ids of those retired."""

    server_ids: tuple[int, ...]
    launches: dict[int, LaunchSpec]
    retired: tuple[int, ...]
    changes: Changes


def register(
    ctx: AppContext, db: apsw.Connection, readings: Iterable[HostReading], *, adds: bool = False
) -> RegisterResult:
    """Make the store's servers and entries agree with the hosts' files.

    With `adds`, entries that a reading lacks stay: it is not the whole file.

    An entry with a URL of our own endpoint is no server: its file goes through Toolcrib.

    Servers of a project's file start untrusted, whatever name they claim. Servers that no file
    names any more are retired, except those of a file that goes through Toolcrib or cannot be read.
    """
    placing = _Placement(db, install_key(ctx.paths))
    readings = list(readings)
    before = servers.launches(db)
    with transaction(db):
        for reading in readings:
            _place_file(ctx, placing, reading, adds=adds)
        retired = _retire(db, readings)
        after = servers.launches(db)
    forget_secrets(ctx, before, after)
    ids = tuple(dict.fromkeys(i for i in placing.placed if i not in retired))
    changes = Changes(servers=True, hosts=True, tools=bool(retired))
    return RegisterResult(ids, placing.launches, tuple(retired), changes)


def leads_back(ctx: AppContext, launch: LaunchSpec | None) -> bool:
    """True if it is our own endpoint: read as a server, it would offer us to ourselves."""
    own = ctx.settings
    return own.http and launch is not None and is_own_url(launch.url, own.http_port)


def register_file(
    ctx: AppContext,
    db: apsw.Connection,
    places: Places,
    entry: EntryRecord,
    names: tuple[str, str],
) -> None:
    """Take in the file of one entry as it is now, after a write or its undo; starts nothing.

    For every host that reads it.

    `names` are the entry's old and new name where it was renamed: its server goes along. A file
    that is gone takes its entries along.
    """
    old, new = names
    if new:
        servers.rename_entry(db, entry, old, new)
    path = Path(entry.file)
    folders = [places.project, path.parent, path.parent.parent]
    readings: dict[str, HostReading] = {}
    for seen in (replace(places, project=folder) for folder in folders):
        for facts in load_hosts():
            if facts.id not in readings and reads_file(seen, facts, path):
                for reading in read_host(seen, facts):
                    if reading.file == path:
                        readings[facts.id] = reading
    register(ctx, db, readings.values())


def register_kept(
    ctx: AppContext,
    db: apsw.Connection,
    entry: EntryRecord,
    launch: LaunchSpec,
    *,
    from_project: bool,
) -> None:
    """Take in the launch of an entry behind Toolcrib, and its secret values; starts nothing."""
    key = install_key(ctx.paths)
    spec, secrets = launch.to_spec(key)
    name = _Placement(db, key).first_name(entry)
    before = servers.launches(db)
    with transaction(db):
        servers.place(db, entry, spec, name=name, trusted=not from_project)
        servers.retire_unnamed(db)
    if secrets:
        SecretStore.open(ctx.paths).put(spec.key, secrets)
        hide_in_past(db, [launch])
    forget_secrets(ctx, before, servers.launches(db))


def register_gone(ctx: AppContext, db: apsw.Connection, entry: EntryRecord) -> None:
    """Forget an entry that was behind Toolcrib and is removed."""
    before = servers.launches(db)
    with transaction(db):
        servers.drop_entry(db, entry)
        servers.retire_unnamed(db)
    forget_secrets(ctx, before, servers.launches(db))


def register_restored(
    ctx: AppContext, db: apsw.Connection, places: Places, done: Iterable[ExportRecord]
) -> None:
    """Take in the files that were put back by these writes or without them; starts nothing."""
    for record in done:
        if record.mode != HOOK:
            old, new, *scope = record.detail.get("renamed", ("", ""))
            within = scope[0] if scope else record.scope
            entry = EntryRecord(record.host, within, record.file, str(old))
            register_file(ctx, db, places, entry, (str(new), str(old)))


def targets(
    ctx: AppContext, db: apsw.Connection, registered: RegisterResult | None = None
) -> list[Target]:
    """Every server that can be started, by name; what was just registered wins over the store.

    A server that is disabled in Toolcrib is none of them: nothing reads, calls or signs in to it.
    """
    secrets = SecretStore.open(ctx.paths)
    startable = []
    for server in servers.all_servers(db):
        launch = None if server.disabled else _launch(server, registered, secrets)
        if launch is not None:
            era = str(server.taken_with.get("era") or LEGACY)
            off = bool(server.entries) and all(entry.disabled for entry in server.entries)
            folder = _project_folder(server)
            startable.append(Target(server.id, server.name, launch, era, off, folder))
    return startable


def _launch(
    server: ServerRecord, registered: RegisterResult | None, secrets: SecretStore
) -> LaunchSpec | None:
    if registered is not None and server.id in registered.launches:
        return registered.launches[server.id]
    kept = secrets_of(server.spec, secrets)
    return None if missing(server.spec, kept, os.environ) else stored_launch(server, secrets)


def _project_folder(server: ServerRecord) -> str:
    """The project whose file names the server, "" for one that a file of the user names."""
    for entry in server.entries:
        if entry.scope.startswith("local:"):
            return entry.scope.removeprefix("local:")
        if entry.scope == "project":
            folder = Path(entry.file).parent
            hidden = folder.name.startswith(".")  # .vscode/mcp.json is one level deeper
            return str(folder.parent if hidden else folder)
    return ""


def stored_launch(server: ServerRecord, secrets: SecretStore) -> LaunchSpec | None:
    """Launch of a server by the store and the secret store, None if they do not have all of it."""
    spec = server.spec
    if not spec.command and not spec.url:
        return None
    return LaunchSpec.from_spec(spec, secrets_of(spec, secrets))


def forget_secrets(
    ctx: AppContext, before: Mapping[int, Launched], after: Mapping[int, Launched]
) -> None:
    """Forget the secret values of launches that are gone, and sign-ins to URLs that are.

    Another server may come under the same name tomorrow: out of a repository, for instance.
    """
    kept = {launched.key for launched in after.values()}
    gone = [launched for launched in before.values() if launched.key not in kept]
    urls = {(launched.name, launched.url) for launched in after.values()}
    left = [one.name for one in before.values() if one.url and (one.name, one.url) not in urls]
    if not gone and not left:
        return
    store = SecretStore.open(ctx.paths)
    for launched in gone:
        store.delete(launched.key)
    for name in left:
        forget(store, name)


class _Placement:
    """Placing of entries: the store, the key, and the results."""

    def __init__(self, db: apsw.Connection, key: bytes) -> None:
        self.db = db
        self.placed: list[int] = []
        self.launches: dict[int, LaunchSpec] = {}
        self._key = key
        self._renamed: list[ExportRecord] | None = None  # not looked up yet

    def place(self, entry: EntryRecord, file_entry: FoundEntry, *, own: bool) -> None:
        """Place the server that the entry names; `own`: Toolcrib wrote it for a server."""
        server = servers.by_name(self.db, file_entry.server) if own else None
        if server is not None:
            server_id = servers.place(
                self.db, entry, server.spec, name=server.name, trusted=server.trusted
            )
        else:
            server_id = self._place_new(entry, file_entry)
        self.placed.append(server_id)
        if file_entry.launch is not None and (
            server is None or self._is_launch_of(file_entry, server)
        ):
            self.launches.setdefault(server_id, file_entry.launch)

    def is_own(self, file_entry: FoundEntry, reading: HostReading) -> bool:
        """True if an entry that starts the gateway for a server is one that Toolcrib wrote.

        Any author can write such an entry, and a trusted server's name with it. It counts when it
        starts exactly what that server starts, or when it starts nothing and is at a place where
        Toolcrib wrote to the user's own file.
        """
        server = servers.by_name(self.db, file_entry.server) if file_entry.server else None
        if server is None:
            return False
        if file_entry.launch is not None:
            return self._is_launch_of(file_entry, server)
        return not file_entry.project_level and file_entry.at in self._places_written(
            str(reading.file)
        )

    def _is_launch_of(self, file_entry: FoundEntry, server: ServerRecord) -> bool:
        return file_entry.launch is not None and file_entry.launch.to_spec(self._key)[0].key == (
            server.spec.key
        )

    def _places_written(self, file: str) -> set[tuple[str | int, ...]]:
        """Places that Toolcrib's writes of this file, those not undone, touched; with parents."""
        return {
            tuple(place[:length])
            for record in exports.in_force(exports.all_exports(self.db))
            if record.file == file and record.scope != "project"
            for place in record.detail.get("touched", {}).get("places", ())
            for length in range(1, len(place) + 1)
        }

    def first_name(self, entry: EntryRecord) -> str:
        """The entry's name before Toolcrib renamed it in its file: its server's name stays."""
        name = entry.name
        for record in self._renames():
            old, new, *scope = record.detail["renamed"]  # older records have no scope
            if record.file == entry.file and new == name and scope in ([], [entry.scope]):
                name = str(old)
        return name

    def _renames(self) -> list[ExportRecord]:
        """The renames that were not undone, newest first."""
        if self._renamed is None:
            self._renamed = [
                record
                for record in exports.in_force(exports.all_exports(self.db))
                if "renamed" in record.detail
            ]
        return self._renamed

    def _place_new(self, entry: EntryRecord, file_entry: FoundEntry) -> int:
        if file_entry.launch is None:
            spec = _nothing(entry, self._key)
        else:
            spec, _ = file_entry.launch.to_spec(self._key)
        name = self.first_name(entry)
        trusted = not file_entry.project_level
        server_id = servers.place(self.db, entry, spec, name=name, trusted=trusted)
        problem = file_entry.problem or (
            _NOT_OURS.format(file_entry.server) if file_entry.server else ""
        )
        if file_entry.launch is None and problem:
            servers.set_status(self.db, server_id, COULD_NOT_START, problem)
        return server_id


def _place_file(ctx: AppContext, placing: _Placement, reading: HostReading, *, adds: bool) -> None:
    host, file = reading.host.id, str(reading.file)
    servers.save_host_file(
        placing.db,
        host,
        file,
        scope=reading.scope,
        file_hash=reading.bytes_hash,
        problem=reading.problem,
        at=ctx.clock(),
    )
    others = [one for one in reading.entries if not leads_back(ctx, one.launch)]
    ours = {one.name for one in reading.entries} - {one.name for one in others}
    for file_entry in others:
        entry = EntryRecord(
            host, file_entry.scope, file, file_entry.name, disabled=file_entry.disabled
        )
        placing.place(entry, file_entry, own=placing.is_own(file_entry, reading))
    if len(others) < len(reading.entries):  # its earlier entries are behind it
        known = servers.entry_names(placing.db, host, file)
        servers.drop_missing_entries(placing.db, host, file, known - ours)
    elif not reading.problem and not reading.through and not adds:
        servers.drop_missing_entries(
            placing.db, host, file, [file_entry.name for file_entry in reading.entries]
        )


def _retire(db: apsw.Connection, readings: Iterable[HostReading]) -> list[int]:
    """Forget files that are gone, then retire servers that nothing names; their ids."""
    seen = {(reading.host.id, str(reading.file)) for reading in readings}
    for host, file, *_ in servers.host_files(db):
        if host != MANUAL and (host, file) not in seen and not Path(file).exists():
            servers.drop_missing_entries(db, host, file, ())
    return servers.retire_unnamed(db)


def _nothing(entry: EntryRecord, key: bytes) -> ServerSpec:
    """The spec of an entry that names nothing that could be started; each is its own."""
    text = "\0".join(("nothing", entry.host, entry.scope, entry.file, entry.name))
    return ServerSpec(STDIO, hmac.new(key, text.encode(), hashlib.sha256).hexdigest())
