"""Places what the hosts' files name in the store; starts nothing."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.changes import Changes
from app.context import AppContext
from app.discovery.reading import LEGACY
from app.hosts.launch import STDIO, LaunchSpec
from app.hosts.reading import FoundEntry, HostReading
from app.secrets import Secrets, SecretStore, install_key
from store import servers
from store.connection import transaction
from store.records import COULD_NOT_START, EntryRecord, ServerRecord, ServerSpec

MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Target:
    """A server that can be read: how it is started and what it spoke last time."""

    server_id: int
    name: str
    launch: LaunchSpec
    era: str = LEGACY
    disabled: bool = False  # by every host that names it

    @property
    def command(self) -> str:
        """The exact command or URL, credentials masked: what consent shows."""
        return self.launch.masked()


@dataclass(frozen=True, slots=True)
class Registered:
    """What was placed: ids of the servers named, how each is started, ids of those retired.

    `pruned` are launches out of entries that Toolcrib wrote; they may lack secrets that moved to
    the secret store.
    """

    server_ids: tuple[int, ...]
    launches: dict[int, LaunchSpec]
    pruned: dict[int, LaunchSpec]
    retired: tuple[int, ...]
    changes: Changes


def register(
    ctx: AppContext, db: apsw.Connection, readings: Iterable[HostReading], *, adds: bool = False
) -> Registered:
    """Make the store's servers and entries agree with the hosts' files.

    With `adds`, entries that a reading lacks stay: it is not all that its file stands for.

    Servers of a project's file start untrusted. Servers that no file names any more are
    retired, except those of a file that goes through Toolcrib or cannot be read.
    """
    placing = _Placing(db, install_key(ctx.paths))
    readings = list(readings)
    with transaction(db):
        for reading in readings:
            _place_file(placing, reading, at=ctx.clock(), adds=adds)
        retired = _retire(db, readings)
    ids = tuple(dict.fromkeys(i for i in placing.placed if i not in retired))
    changes = Changes(servers=True, hosts=True, tools=bool(retired))
    return Registered(ids, placing.launches, placing.pruned, tuple(retired), changes)


def targets(
    ctx: AppContext, db: apsw.Connection, registered: Registered | None = None
) -> list[Target]:
    """Every server that can be started, by name; what was just registered wins over the store."""
    secrets = SecretStore.open(ctx.paths)
    found = []
    for server in servers.all_servers(db):
        launch = _launch(server, registered, secrets)
        if launch is not None:
            era = str(server.taken_with.get("era") or LEGACY)
            off = bool(server.entries) and all(entry.disabled for entry in server.entries)
            found.append(Target(server.id, server.name, launch, era, off))
    return found


def _launch(
    server: ServerRecord, registered: Registered | None, secrets: SecretStore
) -> LaunchSpec | None:
    if registered is not None and server.id in registered.launches:
        return registered.launches[server.id]
    pruned = registered.pruned.get(server.id) if registered else None
    if pruned is not None and not secrets.get(server.name):
        return pruned
    return stored_launch(server, secrets)


def stored_launch(server: ServerRecord, secrets: SecretStore) -> LaunchSpec | None:
    """How a server is started by what the store and the secret store know, None if they do not."""
    spec = server.spec
    if not spec.command and not spec.url:
        return None
    needs = spec.env_names or spec.header_names or "${secret:" in " ".join((*spec.args, spec.url))
    return LaunchSpec.from_spec(spec, secrets.get(server.name) if needs else Secrets())


class _Placing:
    """What placing entries needs and what it gathers."""

    def __init__(self, db: apsw.Connection, key: bytes) -> None:
        self.db = db
        self.placed: list[int] = []
        self.launches: dict[int, LaunchSpec] = {}
        self.pruned: dict[int, LaunchSpec] = {}
        self._key = key

    def place(self, entry: EntryRecord, found: FoundEntry) -> None:
        """Place the server that the entry names."""
        known = servers.by_name(self.db, found.server) if found.server else None
        if known is not None:  # an entry that we pruned: its server stays what it was
            server_id = servers.place(
                self.db, entry, known.spec, name=known.name, trusted=known.trusted
            )
        else:
            server_id = self._place_new(entry, found)
        self.placed.append(server_id)
        if found.launch is not None:
            launches = self.launches if known is None else self.pruned
            launches.setdefault(server_id, found.launch)

    def _place_new(self, entry: EntryRecord, found: FoundEntry) -> int:
        if found.launch is None:
            spec = _nothing(entry, self._key)
        else:
            spec, _ = found.launch.to_spec(self._key)
        server_id = servers.place(
            self.db, entry, spec, name=found.name, trusted=not found.project_level
        )
        if found.launch is None and found.problem:
            servers.set_status(self.db, server_id, COULD_NOT_START, found.problem)
        return server_id


def _place_file(placing: _Placing, reading: HostReading, *, at: float, adds: bool) -> None:
    host, file = reading.host.id, str(reading.file)
    servers.save_host_file(
        placing.db,
        host,
        file,
        scope=reading.scope,
        file_hash=reading.bytes_hash,
        problem=reading.problem,
        at=at,
    )
    for found in reading.entries:
        entry = EntryRecord(host, found.scope, file, found.name, disabled=found.disabled)
        placing.place(entry, found)
    if not reading.problem and not reading.through and not adds:
        servers.drop_missing_entries(
            placing.db, host, file, [found.name for found in reading.entries]
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
