"""The edits that a mode makes in one file, on top of the file as it is without Toolcrib."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.catalog.catalog import Catalog
from app.core.errors import ToolcribError, errors_of
from app.core.text import plural
from app.export import native
from app.export.history import ChangedPlaces, touched
from app.export.http.checks import check_file, file_notes
from app.export.matching import (
    Kept,
    Match,
    find_matches,
    find_server,
    holds_secrets,
    kept_sentences,
    own_tool_list,
    passed_on,
    raw_at,
    why_beside,
    why_not_movable,
    with_problem,
)
from app.export.model_tools import host_rows
from app.export.targets import REVERT, RULES, SERVERS, Target
from app.export.wrapping import GatewayCall, narrowed_servers, pruned_edits, through_entry
from app.hosts.documents.edits import Delete, Edit, Path, Set
from app.hosts.documents.values import read_values
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import EntryStyle, HostFacts
from app.hosts.launch import STDIO, LaunchSpec
from app.hosts.reading import FoundEntry, HostReading, server_maps, style_of, with_entries
from app.secrets.secret_store import Secrets
from app.system.endpoint import Address
from store.records import AS_IS, NATIVE, PRUNED, THROUGH
from store.typed import JsonMapping


@dataclass(frozen=True, slots=True, repr=False)
class FileChange:
    """Edits of one file, in words and with what goes with them."""

    edits: tuple[Edit, ...] = ()
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    touched: ChangedPlaces = field(default_factory=ChangedPlaces)
    secrets: tuple[tuple[str, Secrets], ...] = ()
    server_ids: tuple[int, ...] = ()


@dataclass(slots=True, repr=False)
class _Work:
    """Collects edits, words and warnings for one file."""

    edits: list[Edit] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    items: dict[Path, list[str]] = field(default_factory=dict)
    secrets: list[tuple[str, Secrets]] = field(default_factory=list)
    entered: bool = False  # the one entry is written


def change_file(
    target: Target, base: bytes | None, *, mode: str, catalog: Catalog, call: GatewayCall
) -> FileChange:
    """Change of the mode to this file; ToolcribError when the file cannot be understood."""
    if target.role == REVERT:
        return FileChange()
    tree = _tree(target, base)
    work = _Work()
    matches: list[Match] = []
    if target.role == SERVERS:
        reading = base_reading(target, base)
        if mode != AS_IS:
            work.warnings += reading.notes
        kept = [] if mode == AS_IS else work.kept  # as is, all of them stay
        matches = list(find_matches(reading, tree, catalog, kept))
        style = style_of(reading)
        if mode == PRUNED:
            wrapped, whole = _parted(matches, catalog)
            _prune(work, wrapped, host=target.host, style=style, call=call)
            _unwrap_entries(work, [match.entry for match in whole], tree, style)
        elif mode == THROUGH:
            _through(work, target, tree, matches, reading=reading, call=call)
        elif mode == NATIVE:
            _native(work, target, tree, matches, catalog=catalog)
        if target.scope == "project" and work.edits and holds_secrets(reading):
            work.warnings.append(f"{target.path.name} holds credentials and may be committed.")
        if mode in (AS_IS, NATIVE, THROUGH):
            _unwrap(work, reading, tree, style, catalog)
        _tell_returning(work, target, reading, mode)
    elif target.role == RULES:
        _native(work, target, tree, _all_matches(target, catalog), catalog=catalog)
    return FileChange(
        tuple(work.edits),
        tuple(work.changes),
        tuple(work.warnings),
        tuple(work.kept),
        touched(tree, work.edits, work.items),
        tuple(work.secrets),
        tuple(dict.fromkeys(match.server.id for match in matches)),
    )


def _tell_returning(work: _Work, target: Target, reading: HostReading, mode: str) -> None:
    """Say of entries that the present file lacks and the new one has that they come back."""
    if target.current is None or target.current == b"":
        return
    present = {one.name for one in base_reading(target, target.current).entries}
    gone = {edit.path for edit in work.edits if isinstance(edit, Delete)}
    back = [one.name for one in reading.entries if one.at not in gone and one.name not in present]
    work.kept = [replace(one, returning=one.name in back) for one in work.kept]
    for name in back:
        mentioned = any(change.startswith(f"{name}: ") for change in work.changes)
        if mode != AS_IS and not mentioned:
            work.changes.append(f"{name}: back in the file")


def _tree(target: Target, base: bytes | None) -> Any:
    with errors_of(target.path):
        tree = read_values(base, target.kind.format).value if base else {}
    return tree if tree is not None else {}


def base_reading(target: Target, base: bytes | None) -> HostReading:
    """The entries of the file as it is without Toolcrib."""
    reading = HostReading(target.host, target.path, target.scope, (), kind=target.kind)
    if not base:
        return reading
    with errors_of(target.path):
        parsed = read_values(base, target.kind.format)
    reading = with_entries(reading, parsed, target.kind)
    if reading.problem:
        raise ToolcribError(f"{target.path}: {reading.problem}", "Correct the file and try again.")
    return reading


def _parted(matches: Sequence[Match], catalog: Catalog) -> tuple[list[Match], list[Match]]:
    """Matches that need the gateway in pruned mode, and those that stay or become as they are."""
    narrowed = narrowed_servers(catalog)
    wrapped: list[Match] = []
    whole: list[Match] = []
    for match in matches:
        # the URL of a wrapped entry is the gateway's alone, so that entry cannot go back
        only_ours = match.entry.pruned and match.entry.launch is None
        part = wrapped if match.server.id in narrowed or only_ours else whole
        part.append(match)
    return wrapped, whole


def _prune(
    work: _Work,
    matches: Sequence[Match],
    *,
    host: HostFacts,
    style: EntryStyle,
    call: GatewayCall,
) -> None:
    for match in matches:
        entry = match.entry
        if entry.launch is None:
            _again(work, match, style, call)
            continue
        if entry.launch.transport != STDIO and not _movable(work, match, entry.launch):
            continue
        remote = entry.launch.transport != STDIO
        work.edits += pruned_edits(
            entry.at,
            _original(match.raw, style, entry),
            style=style,
            call=call,
            server=match.server.name,
            passed=passed_on(match, host) if remote else {},
        )
        work.changes.append(f"{entry.name}: runs through toolcrib-gateway")
        if remote:
            _keep_secrets(work, match, entry.launch)


def _original(raw: JsonMapping, style: EntryStyle, entry: FoundEntry) -> JsonMapping:
    """The entry with its own command, also when an earlier write wrapped it."""
    if not entry.pruned or entry.launch is None:
        return raw
    words = [entry.launch.command, *entry.launch.args]
    if style.array:
        return {**raw, style.command: words}
    return {**raw, style.command: words[0], style.args: words[1:]}


def _again(work: _Work, match: Match, style: EntryStyle, call: GatewayCall) -> None:
    """A URL server that is wrapped already: the profile or the gateway's path may be new."""
    if match.entry.pruned:
        remote = {key: value for key, value in match.raw.items() if key != style.command}
        work.edits += pruned_edits(
            match.entry.at, remote, style=style, call=call, server=match.server.name, passed={}
        )
        work.changes.append(f"{match.entry.name}: runs through toolcrib-gateway")
    elif match.entry.problem:
        work.kept.append(with_problem(match.entry))


def _through(
    work: _Work,
    target: Target,
    tree: Any,
    matches: Sequence[Match],
    *,
    reading: HostReading,
    call: GatewayCall,
) -> None:
    gone = [match for match in matches if _goes_through(work, match, target.host, call)]
    if target.primary or (gone and target.kind.pick != "first" and not target.served):
        _enter(work, target, tree, gone, reading=reading, call=call)
    if gone and target.host.native and target.host.native.form:
        work.warnings.append(
            f"Rules of {target.host.name} that name tools of these servers no longer apply."
        )
    work.edits += [Delete(one.at) for one in _off_behind(target, reading)]
    for match in gone:
        work.edits.append(Delete(match.entry.at))
        if not work.entered:  # its own line names them
            work.changes.append(f"{match.entry.name}: behind toolcrib")
        if own_tool_list(match, target.host):
            work.warnings.append(
                f"{match.entry.name} has its own tool list, which no longer applies."
                " Turn those tools off in Toolcrib."
            )
        if match.entry.launch is not None:
            _keep_secrets(work, match, match.entry.launch)


def _enter(
    work: _Work,
    target: Target,
    tree: Any,
    gone: Sequence[Match],
    *,
    reading: HostReading,
    call: GatewayCall,
) -> None:
    """Write the one entry in the place of those that go behind it."""
    at = (*_map_place(tree, target), THROUGH_NAME)
    if THROUGH_NAME in raw_at(tree, at[:-1]) and reading.through_at != at:
        raise ToolcribError(
            f"{target.path} has a server called toolcrib that Toolcrib did not write.",
            "Rename it in the file and try again.",
        )
    if not call.behind:
        reasons = " ".join([*kept_sentences(work.kept), *work.warnings])
        raise ToolcribError(
            f"No server would be behind the entry, so nothing is written. {reasons}".strip(),
            "Read the servers and trust them first (toolcrib scan, toolcrib trust NAME), or add"
            " servers of other hosts by name.",
        )
    passed = {
        name: spelled for match in gone for name, spelled in passed_on(match, target.host).items()
    }
    if call.address is not None:
        check_file(target.path, target.kind)
        work.warnings += _file_notes(target, call.address)
    work.edits.append(Set(at, through_entry(style_of(reading), call, THROUGH_NAME, passed)))
    work.entered = True
    kind = "URL" if call.address is not None else "entry"
    servers = plural(len(call.behind), "server")
    work.changes.append(f"toolcrib: one {kind} for {servers}: {', '.join(call.behind)}")


def _off_behind(target: Target, reading: HostReading) -> Iterator[FoundEntry]:
    """Entries that were switched off behind the one entry: the file has that, and not them."""
    now = base_reading(target, target.current)
    present = {(one.name, one.scope) for one in now.entries}
    for one in reading.entries if now.through else ():
        if one.disabled and (one.name, one.scope) not in present:
            yield one


def _file_notes(target: Target, address: Address) -> Iterator[str]:
    """Notes on outdated parts of the entry that the file has now."""
    tree = _tree(target, target.current)
    now = base_reading(target, target.current)
    present = raw_at(tree, now.through_at) if now.through else None
    yield from file_notes(target.path, present, style_of(now), address)


def goes_behind(
    targets: Sequence[Target],
    bases: Sequence[bytes | None],
    catalog: Catalog,
    call: GatewayCall,
) -> tuple[str, ...]:
    """Names of the servers of these files that go behind the one entry."""
    names: dict[str, None] = {}
    for target, base in zip(targets, bases, strict=True):
        if target.role == SERVERS:
            reading, tree = base_reading(target, base), _tree(target, base)
            names |= dict.fromkeys(_named_before(reading, catalog))
            for match in find_matches(reading, tree, catalog, []):
                if why_beside(match, target.host, by_url=call.address is not None) is None:
                    names[match.server.name] = None
    return tuple(names)


def _named_before(reading: HostReading, catalog: Catalog) -> list[str]:
    """Servers behind an entry of Toolcrib whose earlier state is in no record."""
    if not reading.through:
        return []
    if reading.behind is not None:
        return [
            one.name for one in catalog.servers if one.trusted and one.is_called(reading.behind)
        ]
    own = {row.server.name: row.server.trusted for row in host_rows(reading.host, catalog)}
    return [name for name, trusted in own.items() if trusted]


def _goes_through(work: _Work, match: Match, host: HostFacts, call: GatewayCall) -> bool:
    beside = why_beside(match, host, by_url=call.address is not None)
    if beside is not None:
        work.kept.append(beside)
    return beside is None


def _movable(work: _Work, match: Match, launch: LaunchSpec) -> bool:
    beside = why_not_movable(match, launch)
    if beside is not None:
        work.kept.append(beside)
    return beside is None


def _keep_secrets(work: _Work, match: Match, launch: LaunchSpec) -> None:
    secrets = launch.to_spec(b"")[1]
    if secrets:
        work.secrets.append((match.server.name, secrets))


def _all_matches(target: Target, catalog: Catalog) -> list[Match]:
    """Matches over all server files, for rules that are in another file or once per host."""
    return [
        match for reading in target.readings for match in find_matches(reading, None, catalog, [])
    ]


def _native(
    work: _Work, target: Target, tree: Any, matches: Sequence[Match], *, catalog: Catalog
) -> None:
    route = target.host.native
    if route is None:
        return
    everywhere = matches
    if target.role == SERVERS and route.route in ("permissions", "profile"):
        if not target.primary:
            return
        everywhere = _all_matches(target, catalog)
    servers = [_server_tools(match, catalog) for match in everywhere]
    if not servers:
        return
    if route.route == "entry" and target.role == SERVERS:
        native_edits = native.entry_edits(servers, target.host.style, route)
    elif route.route == "permissions" and target.role == SERVERS:
        native_edits = native.permission_edits(servers, target.host, tree)
    elif route.route == "profile" and target.role == SERVERS:
        native_edits = native.profile_edits(servers, tree)
    elif route.route == "deny-rules" and target.role == RULES:
        native_edits = native.rule_edits(servers, target.host, tree)
    elif route.route == "toolsets" and target.role == RULES:
        native_edits = native.toolset_edits(servers, route)
    else:
        return
    work.edits += native_edits.edits
    work.items.update(native_edits.items)
    work.warnings += native_edits.warnings
    work.changes += native_edits.changes


def _server_tools(match: Match, catalog: Catalog) -> native.ServerTools:
    rows = [row for row in catalog.of_server(match.server.id) if not row.tool.gone]
    return native.ServerTools(
        match.entry.name,
        match.entry.at,
        match.raw,
        tuple(row.tool.name for row in rows if row.shown),
        tuple(row.tool.name for row in rows if not row.shown),
    )


def _unwrap(
    work: _Work, reading: HostReading, tree: Any, style: EntryStyle, catalog: Catalog
) -> None:
    """Entries that Toolcrib wrapped without a record of it get their own command back.

    One of an untrusted project only looks like them: its author wrote it so.
    """
    gone = {edit.path for edit in work.edits if isinstance(edit, Delete)}
    for entry in reading.entries:
        server = find_server(catalog, reading, entry) if entry.project_level else None
        if server is not None and not server.trusted:
            gone.add(entry.at)
    left = [entry for entry in reading.entries if entry.at not in gone]
    _unwrap_entries(work, left, tree, style)
    if reading.through and not work.entered:
        work.edits.append(Delete(reading.through_at))
        work.changes.append("toolcrib: removed")


def _unwrap_entries(
    work: _Work, entries: Sequence[FoundEntry], tree: Any, style: EntryStyle
) -> None:
    for entry in entries:
        if not entry.pruned:
            continue
        if entry.launch is None:
            work.warnings.append(f"The URL of {entry.name} is no longer known; restore a backup.")
            continue
        raw = _original(raw_at(tree, entry.at), style, entry)
        work.edits.append(Set((*entry.at, style.command), raw[style.command]))
        if not style.array:
            work.edits.append(Set((*entry.at, style.args), raw[style.args]))
        work.changes.append(f"{entry.name}: its own command again")


def _map_place(tree: Any, target: Target) -> Path:
    own = next(iter(server_maps(tree, replace(target.kind, also_at=()))), None)
    other = next(iter(server_maps(tree, target.kind)), None)
    if own is None and other is not None and not other[1].startswith("local:"):
        return other[0]
    return target.kind.at
