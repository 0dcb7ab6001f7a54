"""The catalogue's server for each entry of a host's file, and the tools that the entry allows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.catalog.catalog import Catalog
from app.core.text import listed
from app.hosts.documents.edits import Path, value_at
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


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that an export leaves alone; the reason as it reads after one name and several."""

    name: str
    one: str
    several: str
    returning: bool = False  # the present file lacks it

    def ending(self, several: bool) -> str:
        """The sentence after its names."""
        fates = _RETURN if self.returning else _STAY
        return f"{self.several if several else self.one} {fates[several]}"


_STAY = ("stays as it is.", "stay as they are.")
_RETURN = ("comes back as it was before Toolcrib.", "come back as they were before Toolcrib.")


def kept_sentences(kept: Iterable[Kept]) -> Iterator[str]:
    """One sentence for each reason, with the names of all the entries that have it."""
    groups: dict[str, list[Kept]] = {}
    for one in dict.fromkeys(kept):
        groups.setdefault(one.ending(False), []).append(one)
    for group in groups.values():
        names = tuple(dict.fromkeys(one.name for one in group))
        yield listed(names) + group[0].ending(len(names) > 1)


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """An entry of the file and the catalogue's server behind it."""

    entry: FoundEntry
    raw: JsonMapping
    server: ServerRecord


def find_matches(
    reading: HostReading, tree: object, catalog: Catalog, kept: list[Kept]
) -> Iterator[Match]:
    """Entries whose server is known, trusted and read; `kept` gets the others."""
    for entry in reading.entries:
        if entry.disabled or entry.scope.startswith("local:"):
            continue
        server = find_server(catalog, reading, entry)
        if server is None:
            where = "catalog" if catalog.settings.servers is None else "profile"
            kept.append(_kept(entry.name, "is", "are", f"not in the {where}"))
        elif not server.trusted:
            kept.append(_kept(entry.name, "is", "are", "not trusted yet"))
        elif server.status != READ and not catalog.of_server(server.id):
            kept.append(_kept(entry.name, "was", "were", "not read"))
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


def names_another(entry: FoundEntry, server: ServerRecord) -> bool:
    """True if an entry starts another program than the one whose tools are known.

    One that Toolcrib wrote starts its server as it was.
    """
    if entry.launch is None or entry.pruned or not (server.spec.command or server.spec.url):
        return False
    now, _ = entry.launch.to_spec(b"")
    return replace(now, key=server.spec.key, transport=server.spec.transport) != server.spec


def raw_at(tree: Any, at: Path) -> JsonMapping:
    """The map at this place of a value tree, {} when there is none."""
    raw = value_at(tree, at)
    return raw if isinstance(raw, Mapping) else {}


def passed_on(match: Match, host: HostFacts) -> dict[str, str]:
    """Variables that the gateway needs from a host that fills them in or passes them on."""
    if match.entry.launch is None or not (host.interpolation or host.style.passes):
        return {}
    return variables(match.entry.launch)


def _kept(name: str, one: str, several: str, rest: str) -> Kept:
    return Kept(name, f" {one} {rest}; it", f" {several} {rest}; they")


def why_beside(match: Match, host: HostFacts, *, by_url: bool) -> Kept | None:
    """The entry with the reason why it cannot go behind the one for all servers."""
    entry, name = match.entry, match.entry.name
    if by_url and (passed := passed_on(match, host)):
        rest = f"{next(iter(passed.values()))} from the host, which a URL does not pass on"
        return _kept(name, "takes", "take", rest)
    if entry.launch is not None:
        return why_not_movable(match, entry.launch)
    return None if entry.pruned else with_problem(entry)


def with_problem(entry: FoundEntry) -> Kept:
    """The entry with the problem that its file has there."""
    return Kept(entry.name, f": {entry.problem} It", f": {entry.problem} They")


def why_not_movable(match: Match, launch: LaunchSpec) -> Kept | None:
    """The entry with the reason why the gateway cannot start it."""
    name = match.entry.name
    if references := only_host_fills(launch):
        return _kept(name, "uses", "use", f"{references[0]}, which only the host fills in")
    if any(match.raw.get(key) for key in _SIGN_IN_KEYS):
        return _kept(name, "signs", "sign", "in through the host")
    return None


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
