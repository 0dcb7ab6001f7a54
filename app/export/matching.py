"""The catalogue's server for each entry of a host's file, and the tools that the entry allows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.catalog.catalog import Catalog
from app.hosts.documents.edits import Path
from app.hosts.facts import HostFacts
from app.hosts.interpolation import only_host_fills, variables
from app.hosts.launch import LaunchSpec
from app.hosts.reading import FoundEntry, HostReading
from app.secrets.plain_values import is_interpolation
from app.secrets.secret_store import Secrets
from store.records import READ, ServerRecord
from store.typed import JsonMapping

# With one of these a remote entry gets its credentials from the host at run time.
_SIGN_IN_KEYS = ("auth", "oauth", "headersHelper", "http_headers_helper", "authProviderType")

STAYS = "it stays as it is."  # of an entry that an export leaves alone,
RETURNS = "it comes back as it was before Toolcrib."  # and of one that the present file lacks


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """An entry of the file and the catalogue's server behind it."""

    entry: FoundEntry
    raw: JsonMapping
    server: ServerRecord


def find_matches(
    reading: HostReading, tree: object, catalog: Catalog, warnings: list[str]
) -> Iterator[Match]:
    """Entries whose server is known, trusted and read; `warnings` says why others stay."""
    for entry in reading.entries:
        if entry.disabled or entry.scope.startswith("local:"):
            continue
        server = find_server(catalog, reading, entry)
        if server is None:
            where = "catalog" if catalog.settings.servers is None else "profile"
            warnings.append(f"{entry.name} is not in the {where}; {STAYS}")
        elif not server.trusted:
            warnings.append(f"{entry.name} is not trusted yet; {STAYS}")
        elif server.status != READ and not catalog.of_server(server.id):
            warnings.append(f"The tools of {entry.name} were not read; {STAYS}")
        else:
            yield Match(entry, raw_at(tree, entry.at), server)


def find_server(catalog: Catalog, reading: HostReading, entry: FoundEntry) -> ServerRecord | None:
    """The catalogue's server that this entry of this file names, as it was registered.

    What an entry says of itself (`--server NAME`) counts for the user's own URL servers only:
    any author can write another server's name there.
    """
    here = [
        (server, record)
        for server in catalog.servers
        for record in server.entries
        if record.name == entry.name and record.file == str(reading.file)
    ]
    same_host = [pair for pair in here if pair[1].host == reading.host.id]
    exact = [pair for pair in same_host if pair[1].scope == entry.scope]
    best = exact or same_host or here
    if not best and entry.server and entry.launch is None and not entry.project_level:
        return catalog.server(entry.server)
    return best[0][0] if best else None


def raw_at(tree: Any, at: Path) -> JsonMapping:
    """The map at this place of a value tree, {} when there is none."""
    for key in at:
        tree = tree[key] if tree is not None else None
    return tree if isinstance(tree, Mapping) else {}


def passed_on(match: Match, host: HostFacts) -> dict[str, str]:
    """Variables that the gateway needs from a host that fills them in or passes them on."""
    if match.entry.launch is None or not (host.interpolation or host.style.passes):
        return {}
    return variables(match.entry.launch)


def why_not_movable(match: Match, launch: LaunchSpec) -> str:
    """Reason that the gateway cannot start this entry, "" when it can."""
    if references := only_host_fills(launch):
        return f"uses {references[0]}, which only the host fills in"
    if any(match.raw.get(key) for key in _SIGN_IN_KEYS):
        return "signs in through the host"
    return ""


def own_tool_list(match: Match, host: HostFacts) -> bool:
    """True if the user narrowed this server's tools with the host's own lists."""
    route = host.native
    if route is None or route.route != "entry":
        return False
    allowed, denied = match.raw.get(route.allow), match.raw.get(route.deny)
    return bool(denied) or (bool(allowed) and allowed != list(route.all))


def holds_secrets(reading: HostReading) -> bool:
    """True if the file itself has a credential, not only the name of a variable."""
    for entry in reading.entries:
        secrets = entry.launch.to_spec(b"")[1] if entry.launch else Secrets()
        values = (*secrets.env.values(), *secrets.headers.values(), *secrets.values)
        if any(not is_interpolation(value) for value in values):
            return True
    return False
