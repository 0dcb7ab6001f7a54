"""Servers from a file or a text that a user hands over, started later without any host."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings
from app.hosts.display import LaunchText, launch_text
from app.hosts.importing import own_reading, read_data, read_file
from app.hosts.launch import LaunchSpec
from app.hosts.reading import FoundEntry, HostReading
from app.indexing.past_texts import hide_in_past
from app.registry.own_servers import is_own
from app.registry.register import RegisterResult, leads_back, register
from app.secrets.secret_store import SecretStore, install_key
from app.signin.grant import follow
from store import profiles, servers
from store.connection import transaction
from store.records import MANUAL, EntryRecord, ServerRecord

BY_HAND = Path("by-hand.json")  # in the place of the file of servers that no file names


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of an import, and the place of the servers' secrets (`keychain`, `file` or "")."""

    registered: RegisterResult
    names: tuple[str, ...]  # in the catalogue, in the file's order
    profile: str
    secrets_in: str


def import_file(
    ctx: AppContext, db: apsw.Connection, path: Path, *, profile: str = ""
) -> ImportResult:
    """Register the servers of a config file; `profile` (made if needed) then shows only these.

    Secret values go to the secret store, so that the gateway can start the servers by itself.
    """
    return _take(ctx, db, read_file(path.expanduser().absolute()), profile)


def import_text(
    ctx: AppContext, db: apsw.Connection, text: str, *, profile: str = ""
) -> ImportResult:
    """Import a pasted config; servers pasted before stay."""
    return _take(ctx, db, read_data(text.encode(), Path("pasted.json")), profile, adds=True)


def preview(path: Path) -> tuple[tuple[str, LaunchText], ...]:
    """Name and command, as consent shows it, of each server of a file; registers nothing."""
    reading = _checked(read_file(path.expanduser().absolute()))
    return tuple(
        (entry.name, launch_text(entry.launch) if entry.launch else LaunchText(entry.problem))
        for entry in reading.entries
    )


def add_server(ctx: AppContext, db: apsw.Connection, name: str, launch: LaunchSpec) -> ImportResult:
    """Register one server that no file names, typed in or out of a list.

    An older one of that name is replaced. Raises ToolcribError for a name that none can have.
    """
    require_name(name)
    entry = FoundEntry(name, MANUAL, launch)
    return _take(ctx, db, own_reading(BY_HAND, entry), "", adds=True)


def edit_server(
    ctx: AppContext, db: apsw.Connection, server: ServerRecord, name: str, launch: LaunchSpec
) -> Changes:
    """Change an own server's launch or name; its tools, ticks and trust stay.

    Raises ToolcribError where a host's file names the server, or another one has the new name.
    """
    entry = next((one for one in server.entries if one.host == MANUAL), None)
    if entry is None or not is_own(server):
        raise ToolcribError(
            f"{server.name} is named by a host's file.", "Change it there, or duplicate it."
        )
    _refuse_ourselves(ctx, [launch])
    if name != server.name:
        require_name(name)
    with transaction(db):
        if name != server.name and not servers.rename(db, server.id, name):
            raise ToolcribError(f"A server is called {name} already.", "Choose another name.")
        typed = _typed_name(db, entry, name)
        servers.rename_entry(db, entry, entry.name, typed)
        called = servers.names(db)[server.id]
    follow(SecretStore.open(ctx.paths), server.name, called)
    same = FoundEntry(typed, entry.scope, launch)
    _take(ctx, db, own_reading(Path(entry.file), same), "", adds=True)
    return Changes(servers=True, tools=True)


def require_name(name: str) -> None:
    """Raise ToolcribError where a server cannot be called this."""
    if not servers.can_be_called(name):
        raise ToolcribError(
            f"A server cannot be called “{name[:80]}”.",
            "Use at most 64 letters, digits, blanks and . _ @ ( ) + -.",
        )


def _typed_name(db: apsw.Connection, entry: EntryRecord, name: str) -> str:
    """The new name of the entry, so that adding its old name later is another server.

    One of a file that was imported keeps the name by which the file is read again.
    """
    is_imported = Path(entry.file).is_absolute()
    is_taken = name in servers.entry_names(db, entry.host, entry.file)
    return entry.name if is_imported or is_taken else name


def _take(
    ctx: AppContext,
    db: apsw.Connection,
    reading: HostReading,
    profile: str,
    *,
    adds: bool = False,
) -> ImportResult:
    manual = replace(_checked(reading).host, id=MANUAL)
    _refuse_ourselves(ctx, [entry.launch for entry in reading.entries])
    registered = register(ctx, db, [replace(reading, host=manual)], adds=adds)
    by_id = servers.names(db)
    names = tuple(by_id[server_id] for server_id in registered.server_ids)
    kept = _keep_secrets(ctx, db, registered)
    if profile:
        _limit_profile(db, profile, names)
    return ImportResult(registered, names, profile, kept)


def _checked(reading: HostReading) -> HostReading:
    """The reading; ToolcribError when there is nothing in it to take."""
    if reading.problem:
        raise ToolcribError(f"The file cannot be used: {reading.problem}", "Correct the file.")
    if not reading.entries:
        raise ToolcribError("The file names no server.", "A map like mcpServers is expected.")
    return reading


def _refuse_ourselves(ctx: AppContext, launches: Sequence[LaunchSpec | None]) -> None:
    if all(leads_back(ctx, launch) for launch in launches):
        raise ToolcribError(
            "That is a URL of Toolcrib itself, which hosts use; it is no server.", "Leave it out."
        )


def _keep_secrets(ctx: AppContext, db: apsw.Connection, registered: RegisterResult) -> str:
    store, key = SecretStore.open(ctx.paths), install_key(ctx.paths)
    kept = ""
    for launch in registered.launches.values():
        spec, secrets = launch.to_spec(key)
        if secrets:
            kept = store.put(spec.key, secrets)
    hide_in_past(db, registered.launches.values())
    return kept


def _limit_profile(db: apsw.Connection, name: str, wanted: tuple[str, ...]) -> None:
    """Let the profile show these servers; one that shows all servers already stays so."""
    with transaction(db):
        record = profiles.by_name(db, name)
        if record is None:
            settings = ProfileSettings(servers=wanted)
            profiles.create(db, name, settings=settings.to_json())
            return
        settings = ProfileSettings.from_json(record.settings)
        if settings.servers is not None:
            known = {server.name for server in servers.all_servers(db)}
            kept = [server for server in settings.servers if server in known]
            wider = replace(settings, servers=tuple(dict.fromkeys([*kept, *wanted])))
            profiles.save_settings(db, record.id, wider.to_json())
