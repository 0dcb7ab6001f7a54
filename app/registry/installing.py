"""A server out of a list: registered like one that was typed in, and held until it was reviewed."""

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.market import launch as launches
from app.market import sources
from app.market.details import Details
from app.market.entry import DELETED, Entry, read_entry
from app.market.launch import Choice
from app.market.seed import SEED_URL
from app.registry.importing import ImportResult, add_server
from store import market, servers
from store.connection import transaction
from store.market import ListedServer, MarketInstall, MarketSource
from store.records import RETIRED

_LONGEST_QUERY = 400  # characters of a search that are remembered


def listed_server(db: apsw.Connection, name: str, source: str = "") -> ListedServer:
    """The listed server of that name, or of the package so called; raises ToolcribError.

    The shipped list and a team's give way to the user's; where several of those name it, one must
    be chosen: a list could name what another one is trusted for.
    """
    known = {one.id: one for one in market.sources(db)}
    rows = market.by_name(db, name) or market.by_identifier(db, name)
    rows = tuple(row for row in rows if not source or known[row.source_id].name == source)
    if not rows:
        raise ToolcribError(
            f"No list names a server called {name}.",
            f'Search for it: toolcrib find "{name}"; or fetch the lists: toolcrib registry sync',
        )
    own = [row for row in rows if not sources.passes_on(db, known[row.source_id])]
    if len({row.source_id for row in own}) > 1 or len({row.name for row in own}) > 1:
        called = ", ".join(f"{row.name} ({known[row.source_id].name})" for row in own)
        raise ToolcribError(f"Several lists name {name}: {called}.", "Add --source or a full name.")
    return (own or sorted(rows, key=lambda row: known[row.source_id].url == SEED_URL))[0]


def current(ctx: AppContext, known: Details, version: str = "") -> Entry:
    """The entry to install: as its source has it now, unless that passes on what others list.

    Raises ToolcribError where the version is gone or not what was shown.
    """
    entry = known.entry
    if known.as_listed:
        return with_version(entry, version)
    from app.market.sync import newest_version  # an HTTP client, for other lists than these

    with closing(sources.client(ctx, known.source)) as client:
        now = newest_version(client, entry, version or entry.version)
    if not version and now.raw != entry.raw:
        raise ToolcribError(
            f"{entry.name} {entry.version} is not what was shown any more: its source changed it.",
            "Nothing was added. Sync and look again: toolcrib registry sync",
        )
    if now.status == DELETED:
        raise ToolcribError(f"{entry.name} was deleted from its registry.", "Nothing was added.")
    return now


def with_version(entry: Entry, version: str) -> Entry:
    """An entry of the shipped list with the version that a user names for its package."""
    packages = [dict(one) for one in entry.raw.get("packages", [])]
    if not version or not packages:
        return entry
    packages[0]["version"] = version
    return read_entry({**entry.raw, "version": version, "packages": packages})


def install(
    ctx: AppContext,
    db: apsw.Connection,
    entry: Entry,
    choice: Choice,
    launch: LaunchSpec,
    *,
    source: MarketSource,
    name: str = "",
    values: Mapping[str, str] | None = None,
    query: str = "",
) -> ImportResult:
    """Register the server under a free name; its tools are held until Review approves them."""
    taken = [one.name for one in servers.all_servers(db) if one.status != RETIRED]
    if name and name in taken:
        raise ToolcribError(f"A server is called {name} already.", "Choose another --name.")
    imported = add_server(ctx, db, name or launches.short_name(entry, taken), launch)
    with transaction(db):
        for server_id in imported.registered.server_ids:
            market.save_install(
                db,
                MarketInstall(
                    server_id,
                    source.url,
                    entry.name,
                    entry.version,
                    choice.number,
                    ctx.clock(),
                    query=query[:_LONGEST_QUERY],
                    entry=json.dumps(entry.raw),
                    given=json.dumps(plain_values(choice, values or {})),
                ),
            )
    return imported


def ready(ctx: AppContext, entry: Entry, choice: Choice, *, private: bool = False) -> Choice:
    """The choice with its bundle fetched, checked and unpacked; any other one as it is."""
    package = choice.package
    if package is None or package.kind != "mcpb" or choice.problem:
        return choice
    from app.market.bundle_fetch import fetched  # an HTTP client, for bundles alone

    folder, sha = bundles_folder(ctx), package.sha256
    made = fetched(entry.name, package.identifier, sha, folder, private=private)
    return launches.with_bundle(choice, made)


def bundles_folder(ctx: AppContext) -> Path:
    """Folder of the unpacked bundles, each under its checksum."""
    return ctx.paths.home / "bundles"


def plain_values(choice: Choice, values: Mapping[str, str]) -> dict[str, str | None]:
    """Values by key as they may be stored: None for a secret one."""
    secret = {field.key for field in choice.fields if field.input.secret}
    return {key: None if key in secret else text for key, text in values.items()}
