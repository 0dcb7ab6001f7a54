"""Servers from a file or a text that a user hands over, started later without any host."""

from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.context import AppContext
from app.discovery.register import MANUAL, Registered, register
from app.errors import ToolcribError
from app.hosts.importing import read_data, read_file
from app.hosts.launch import LaunchSpec
from app.hosts.reading import FoundEntry, HostReading
from app.secrets import SecretStore, install_key
from app.settings import ProfileSettings
from store import profiles, servers
from store.connection import transaction


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, and where the servers' secrets are kept (`keychain`, `file` or "")."""

    registered: Registered
    names: tuple[str, ...]  # in the catalogue, in the file's order
    profile: str
    secrets_in: str


def import_file(ctx: AppContext, db: apsw.Connection, path: Path, *, profile: str = "") -> Imported:
    """Register the servers of a config file; `profile` (made if needed) then shows only these.

    Secret values go to the secret store, so that the gateway can start the servers by itself.
    """
    return _take(ctx, db, read_file(path.expanduser().absolute()), profile)


def import_text(ctx: AppContext, db: apsw.Connection, text: str, *, profile: str = "") -> Imported:
    """The same for a pasted config; servers pasted before stay."""
    return _take(ctx, db, read_data(text.encode(), Path("pasted.json")), profile, adds=True)


def preview(path: Path) -> tuple[tuple[str, str], ...]:
    """Name and masked command of each server that a file would bring; registers nothing."""
    reading = read_file(path.expanduser().absolute())
    return tuple(
        (entry.name, entry.launch.masked() if entry.launch else entry.problem)
        for entry in reading.entries
    )


def add_server(ctx: AppContext, db: apsw.Connection, name: str, launch: LaunchSpec) -> Imported:
    """Register one server that a user typed in; an older one of that name is replaced."""
    reading = read_data(b'{"mcpServers":{}}', Path("by-hand.json"))
    entry = FoundEntry(name, MANUAL, launch)
    return _take(ctx, db, replace(reading, entries=(entry,)), "", adds=True)


def _take(
    ctx: AppContext,
    db: apsw.Connection,
    reading: HostReading,
    profile: str,
    *,
    adds: bool = False,
) -> Imported:
    if reading.problem:
        raise ToolcribError(f"The file cannot be used: {reading.problem}", "Correct the file.")
    if not reading.entries:
        raise ToolcribError("The file names no server.", "A map like mcpServers is expected.")
    manual = replace(reading.host, id=MANUAL)
    registered = register(ctx, db, [replace(reading, host=manual)], adds=adds)
    by_id = {server.id: server.name for server in servers.all_servers(db)}
    names = tuple(by_id[server_id] for server_id in registered.server_ids)
    kept = _keep_secrets(ctx, registered, by_id)
    if profile:
        _limit_profile(db, profile, names)
    return Imported(registered, names, profile, kept)


def _keep_secrets(ctx: AppContext, registered: Registered, names: dict[int, str]) -> str:
    store, key = SecretStore.open(ctx.paths), install_key(ctx.paths)
    kept = ""
    for server_id, launch in registered.launches.items():
        _, secrets = launch.to_spec(key)
        if secrets:
            kept = store.put(names[server_id], secrets)
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
