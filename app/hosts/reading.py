"""Reads the hosts' files: which servers are named where. Starts nothing, runs no host."""

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.core.endpoint import behind_at, profile_at, team_profile_at
from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.hosts.documents.edits import value_at
from app.hosts.documents.values import Parsed, read_values
from app.hosts.entries import THROUGH_NAME, EntryView, is_built_in, view_entry
from app.hosts.extensions import view_extension
from app.hosts.facts import EntryStyle, HostFacts, HostFile, NativeRoute, load_hosts
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places, is_file
from store.records import storable
from store.typed import JsonMapping

# Claude Code keeps its state and all its projects' histories in one file.
_LARGEST = 100_000_000
MOST_SERVERS = 5_000  # of one map; a hundred times as many take ten seconds
_MOST = f"{MOST_SERVERS:,}"
LARGEST_PROMPT_FILE = 20_000_000  # of hooks and instructions, which a host reads at each start
_SCOPES = {"state": "managed"}


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """One server entry in a host's file."""

    name: str
    scope: str  # user | project | extension | managed | local:FOLDER (Claude Code)
    launch: LaunchSpec | None  # None when it cannot be started from here, see problem
    disabled: bool = False
    problem: str = ""
    project_level: bool = False
    at: tuple[str | int, ...] = ()  # place of the entry in the file
    pruned: str = ""  # profile, when Toolcrib wrote this entry for one server
    server: str = ""  # catalogue name of that server; launch is None for a URL server
    behind: tuple[str, ...] | None = None  # of the entry for all servers: those that it reaches
    allowed: tuple[str, ...] | None = None  # tools by the entry's own allow list, None for all
    denied: tuple[str, ...] = ()  # tools by its own deny list

    def hides(self, tool: str) -> bool:
        """True if the entry's own lists keep a tool from the model."""
        return tool in self.denied or (self.allowed is not None and tool not in self.allowed)


@dataclass(frozen=True, slots=True)
class HostReading:
    """One file of a host, read."""

    host: HostFacts
    file: Path
    scope: str
    entries: tuple[FoundEntry, ...]
    problem: str = ""
    bytes_hash: str = ""
    kind: HostFile | None = None
    through: str = ""  # profile, when the file has Toolcrib's one entry for all servers
    through_at: tuple[str | int, ...] = ()
    behind: tuple[str, ...] | None = None  # servers that this entry reaches, None for all
    notes: tuple[str, ...] = ()


def read_hosts(places: Places) -> tuple[HostReading, ...]:
    """Every file of every host that exists here, with the servers it names."""
    return tuple(reading for host in load_hosts() for reading in read_host(places, host))


def read_host(places: Places, host: HostFacts) -> tuple[HostReading, ...]:
    """The files of one host that exist here."""
    return tuple(
        read_one(places, host, kind, path)
        for kind in host.files
        if kind.role != "settings" and not left_behind(places, host, kind)
        for path in places.existing(kind)
    )


def left_behind(places: Places, host: HostFacts, kind: HostFile) -> bool:
    """True if the host says, in its newer file, that it took these servers over."""
    if not kind.gone_once:
        return False
    newer, mark = kind.gone_once
    for path in places.existing(host.file(newer)):
        with suppress(ToolcribError):
            value = read_values(read_bytes(path), host.file(newer).format).value
            if isinstance(value, Mapping) and mark in value:
                return True
    return False


def read_one(places: Places, host: HostFacts, kind: HostFile, path: Path) -> HostReading:
    """One file of a host; a file that cannot be read is a reading with a problem."""
    scope = _SCOPES.get(kind.scope, kind.scope)
    reading = HostReading(host, path, scope, (), kind=kind)
    if problem := leads_outside(places, kind, path):
        return replace(reading, problem=problem)
    try:
        data = read_bytes(path)
    except ToolcribError as error:
        return replace(reading, problem=error.title)
    reading = replace(reading, bytes_hash=hash_bytes(data))
    try:
        parsed = read_values(data, kind.format)
    except ToolcribError as error:
        return replace(reading, problem=error.title)
    if kind.role == "manifest":
        return replace(reading, entries=(read_extension(places, parsed.value, path),))
    return with_entries(reading, parsed, kind)


def leads_outside(places: Places, kind: HostFile, path: Path) -> str:
    """Reason not to use a project's file: by its link the project's author picked the target."""
    real = places.outside(path) if kind.scope == "project" else None
    return f"{path} leads outside the project, to {real}." if real else ""


def with_entries(reading: HostReading, parsed: Parsed, kind: HostFile) -> HostReading:
    """The reading with the entries of its server maps."""
    entries: list[FoundEntry] = []
    problem, through = "", ""
    through_at: tuple[str | int, ...] = ()
    behind: tuple[str, ...] | None = None
    for at, scope, servers in server_maps(parsed.value, kind):
        if servers is None:
            continue
        if not isinstance(servers, Mapping | list):
            problem = f"{at[-1]} is not a map of servers."
            continue
        if isinstance(servers, list) and style_of(reading).headers != "requestOptions.headers":
            problem = f"{at[-1]} is a list where a map of servers is expected."
            continue
        if len(servers) > MOST_SERVERS:
            problem = f"{at[-1]} names {len(servers):,} servers. Toolcrib reads up to {_MOST}."
            continue
        for entry, profile in _entries(servers, at, scope, reading):
            if profile:
                through, through_at, behind = profile, entry.at, entry.behind
            else:
                entries.append(entry)
    notes = tuple(_notes(parsed, kind, reading.host))
    return replace(
        reading,
        entries=tuple(entries),
        problem=problem,
        through=through,
        through_at=through_at,
        behind=behind,
        notes=notes,
    )


def style_of(reading: HostReading) -> EntryStyle:
    """Spelling of the entries of this file."""
    return (reading.kind.style if reading.kind else None) or reading.host.style


def server_maps(value: Any, kind: HostFile) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Server maps in a file's values: path, scope of their entries, value."""
    if not isinstance(value, Mapping):
        return
    main = _SCOPES.get(kind.scope, kind.scope)
    main_map = value_at(value, kind.at)
    if main_map is not None:
        yield kind.at, main, main_map
    for place in kind.also_at:
        if not place:
            if main_map is None and value and all(isinstance(v, Mapping) for v in value.values()):
                yield (), main, value
            continue
        head, star, tail = place.partition(".*.")
        if not star:
            if isinstance(other := value_at(value, tuple(place.split("."))), Mapping) and not (
                {"type", "command", "url"} & other.keys()
            ):
                yield tuple(place.split(".")), main, other
            continue
        for key, inner in (value_at(value, (head,)) or {}).items():
            if (servers := value_at(inner, tuple(tail.split(".")))) is not None:
                yield (head, key, *tail.split(".")), f"local:{key}", servers


def also_read_by(places: Places, path: Path, but: str) -> tuple[str, ...]:
    """Names of the other hosts that read this file as well."""
    return tuple(
        host.name for host in load_hosts() if host.id != but and reads_file(places, host, path)
    )


def reads_file(places: Places, host: HostFacts, path: Path) -> bool:
    """True if the host takes servers from this file, even if it is missing."""
    return path in _all_paths(places, host)


def read_bytes(path: Path, most: int = _LARGEST) -> bytes:
    """The bytes of a host file; ToolcribError when it cannot be read, or is no plain file."""
    try:
        return read_plain(path, most)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise ToolcribError(f"{path} is not a file.", "Name a config file.") from error
        if error.errno == errno.EFBIG:
            hint = f"Toolcrib reads up to {most // 1_000_000} MB."
            raise ToolcribError(f"{path} is too large for a config file.", hint) from error
        hint = "Check that the file exists and that you may read it."
        reason = error.strerror or str(error)
        raise ToolcribError(f"The file {path} cannot be read: {reason}.", hint) from error


def bytes_if_there(path: Path, most: int = _LARGEST) -> bytes | None:
    """The bytes of a host file, None where there is no such file. Raises ToolcribError."""
    return read_bytes(path, most) if is_file(path) else None


def bytes_if_any(path: Path) -> bytes | None:
    """The same, but ToolcribError also where something else than a file is in its place."""
    return read_bytes(path) if os.path.lexists(path) else None


def hash_bytes(data: bytes | None) -> str:
    """SHA-256 of a file's bytes, hexadecimal; "" where there is no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _all_paths(places: Places, host: HostFacts) -> set[Path]:
    paths = {path for kind in host.server_files for path in places.candidates(kind)}
    return paths | set(places.paths(host.also_reads))


def _entries(
    servers: JsonMapping | list[Any],
    at: tuple[str | int, ...],
    scope: str,
    reading: HostReading,
) -> Iterator[tuple[FoundEntry, str]]:
    pairs = servers.items() if isinstance(servers, Mapping) else enumerate(servers)
    for key, raw in pairs:
        if isinstance(raw, Mapping) and (is_built_in(raw) or _is_nested_map(key, raw)):
            continue  # parts of the host; the map mcp.servers is read for itself
        name = _listed_name(key, raw) if isinstance(key, int) else str(key)
        entry, profile = _entry(storable(name), raw, (*at, key), storable(scope), style_of(reading))
        yield _with_lists(entry, raw, reading.host.native), profile


def _with_lists(entry: FoundEntry, raw: Any, route: NativeRoute | None) -> FoundEntry:
    """The entry with the host's per-tool lists in it, of hosts that keep them there."""
    if route is None or route.route != "entry" or not isinstance(raw, Mapping):
        return entry
    allowed, denied = _names(raw.get(route.allow)), _names(raw.get(route.deny))
    means_all = not allowed or allowed == route.all  # an empty list means every tool in some hosts
    return replace(entry, allowed=None if means_all else allowed, denied=denied)


def _names(listed: object) -> tuple[str, ...]:
    """The names in a list of a host's file, nothing where it is no list."""
    return tuple(map(str, listed)) if isinstance(listed, list | tuple) else ()


def _listed_name(number: int, raw: object) -> str:
    """Name of an entry of a list: its own, or that of the block that it uses."""
    keys = raw if isinstance(raw, Mapping) else {}
    return str(keys.get("name") or keys.get("uses") or f"server-{number + 1}")


def _is_nested_map(key: object, raw: JsonMapping) -> bool:
    """True if this is opencode's `mcp.servers` map and not a server called servers."""
    return key == "servers" and bool(raw) and all(isinstance(v, Mapping) for v in raw.values())


def _entry(
    name: str, raw: Any, at: tuple[str | int, ...], scope: str, style: EntryStyle
) -> tuple[FoundEntry, str]:
    """The entry, and the profile when it is Toolcrib's entry for all servers."""
    view = view_entry(raw, style)
    entry = _entry_of(name, view, at, scope)
    if name == THROUGH_NAME and view.launch is not None and view.launch.url:
        url = view.launch.url
        # a stranger's project file cannot pass a server off as the team's
        profile = profile_at(url) or (team_profile_at(url) if scope == "user" else "")
        return replace(entry, behind=behind_at(url)), profile
    through = view.gateway is not None and not view.gateway.server
    return entry, entry.pruned if through else ""


def _entry_of(name: str, view: EntryView, at: tuple[str | int, ...], scope: str) -> FoundEntry:
    return FoundEntry(
        name=name,
        scope=scope,
        launch=view.launch,
        disabled=view.disabled,
        problem=view.problem,
        project_level=scope == "project" or scope.startswith("local:"),
        at=at,
        pruned=(view.gateway.profile or "default") if view.gateway else "",
        server=view.gateway.server if view.gateway else "",
        behind=view.gateway.behind if view.gateway else None,
    )


def read_extension(places: Places, manifest: Any, path: Path) -> FoundEntry:
    """The server of an installed extension."""
    view = view_extension(manifest, path.parent, places.home, places.system)
    name = manifest.get("name") if isinstance(manifest, Mapping) else None
    return _entry_of(str(name or path.parent.name), view, (), "extension")


def _notes(parsed: Parsed, kind: HostFile, host: HostFacts) -> Iterator[str]:
    if parsed.duplicates:
        yield f"{parsed.duplicates[0]} is in this file twice; the last one counts."
    strict = kind.format in ("json", "jsonc")
    if strict and parsed.comments and not kind.comments:
        yield f"This file has comments, which {host.name} may not read."
    if strict and parsed.trailing_commas and not kind.commas:
        yield f"This file has trailing commas, which {host.name} may not read."
    if parsed.bom and kind.bom is False:
        yield f"This file starts with a byte order mark, which {host.name} does not read."
