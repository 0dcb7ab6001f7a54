"""Plan of an export: new bytes of each file, the change in words, the obstacles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.catalog.catalog import Catalog, CatalogTool
from app.core.errors import ToolcribError, errors_of
from app.core.text import plural
from app.export.changes import FileChange, base_reading, change_file, goes_behind
from app.export.file_tools import file_tools, of_project, of_user
from app.export.history import Base, ChangedPlaces, added_since, base_of, is_native
from app.export.http.checks import host_notes, why_no_url
from app.export.http.of_team import by_reference
from app.export.limits import limit_warnings
from app.export.links import install_link
from app.export.matching import kept_sentences
from app.export.model_tools import host_rows
from app.export.snippet import snippet
from app.export.targets import SERVERS, NotWrittenError, Target, find_targets
from app.export.wrapping import GatewayCall
from app.hosts.documents.editing import edit
from app.hosts.documents.values import read_values
from app.hosts.facts import HostFacts, host
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from app.hosts.reading import HostReading, also_read_by, hash_bytes, read_host
from app.hosts.running import is_running
from app.secrets.secret_store import Secrets
from app.system.endpoint import Address, Endpoint, TeamEndpoint
from store.exports import in_force
from store.records import AS_IS, NATIVE, PRUNED, THROUGH, EntryRecord, ExportRecord

MODES = (AS_IS, NATIVE, PRUNED, THROUGH)
_SOME_SERVER = "SERVER"  # in a text to paste, where no server of the host is known
EDIT, REMOVE, DISABLE, ENABLE = "edit", "remove", "disable", "enable"  # of an entry


@dataclass(frozen=True, slots=True, repr=False)
class EntryChange:
    """A user's change to one server's entry in a host's file; a launch may hold secrets."""

    entry: EntryRecord
    kind: str  # edit | remove | disable | enable
    name: str = ""  # that it is to have, "" as it is
    launch: LaunchSpec | None = None  # that it is to have, None as it is

    @property
    def words(self) -> str:
        """The change, as the file's line and the undo step say it."""
        if self.kind == EDIT and self.launch is None:
            return f"Rename {self.entry.name} to {self.name}"
        return f"{self.kind.capitalize()} {self.entry.name}"


@dataclass(frozen=True, slots=True, repr=False)
class FilePlan:
    """One file before and after; holds secrets, so printing shows its path only."""

    path: Path
    scope: str
    format: str
    before: bytes | None
    after: bytes | None  # None: there would be no file
    before_hash: str
    changes: tuple[str, ...]  # in words
    touched: ChangedPlaces
    base: bytes | None = None  # the file without Toolcrib
    base_copy: str = ""  # where a copy of that is kept already
    ends: tuple[int, ...] = ()  # records of writes that are over with this one
    kept: bytes | None = None  # `base` before the change, where that is what changes

    def __repr__(self) -> str:
        return f"FilePlan({self.path}, {len(self.changes)} changes)"


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """An export that can be looked at, then applied."""

    host: HostFacts
    mode: str
    profile: str
    files: tuple[FilePlan, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str | None = None
    snippet: str = ""  # to paste, when it is refused because Toolcrib does not write there
    link: str = ""  # by which the host adds the one entry itself, "" where it takes none
    matched: int = 0  # entries of its files whose server is known, trusted and read
    tokens_before: int = 0
    tokens_after: int = 0
    tools_before: int = 0
    tools_after: int = 0
    later: int = 0  # tokens that the host then loads on demand
    unread: tuple[str, ...] = ()  # unread servers that its files would name
    own: tuple[str, ...] = ()  # servers of its files that the one entry reaches
    also: tuple[str, ...] = ()  # servers of other hosts that it reaches, added by name
    widened: bool = False  # an earlier build wrote its entry, which reaches every server
    secrets_to_store: tuple[tuple[str, Secrets], ...] = ()  # catalogue name, values
    also_read_by: tuple[str, ...] = ()  # other hosts; of an export see `with_readers`
    restart_hint: str = ""
    change: EntryChange | None = None  # of one entry, where it is no export
    parted: str = ""  # the server that the one changed is from then on, where others share it
    running: bool = False  # the host runs and takes changes only when closed
    over_http: bool = False  # its one entry is a URL instead of a command
    endpoint: Endpoint | None = None  # whose URL is written
    address: Address | None = None  # that URL and its token

    def __repr__(self) -> str:
        return f"Plan({self.host.id}, {self.mode}, {self.files}, refusal={self.refusal!r})"

    @property
    def changes(self) -> tuple[str, ...]:
        """All changes in words."""
        return tuple(change for file in self.files for change in file.changes)

    @property
    def of_team(self) -> bool:
        """True if its one entry is the team gateway's URL."""
        return isinstance(self.endpoint, TeamEndpoint)

    @property
    def gives_token(self) -> bool:
        """True if a file gets the member's own token in clear, which needs a yes."""
        return self.of_team and self.address is not None and not self.address.variable

    @property
    def behind(self) -> tuple[str, ...]:
        """Every server that the host's one entry would reach."""
        return self.own + self.also

    @property
    def empty(self) -> bool:
        """True if nothing would be written."""
        return not self.files


def plan(
    places: Places,
    host_id: str,
    *,
    catalog: Catalog,
    mode: str,
    gateway_path: Path,
    history: Sequence[ExportRecord] = (),
    endpoint: Endpoint | None = None,
    also: Sequence[str] | None = None,
    now: Catalog | None = None,
) -> Plan:
    """The export of the catalogue's profile to a host; reads files, writes and starts nothing.

    `history` are the host's earlier writes (store.exports.for_host): with them a plan starts
    from the file as it was before Toolcrib, whatever mode it is in now. With an `endpoint` the
    one entry for all servers is its URL instead of a command. That entry reaches the servers that
    the files name without Toolcrib, and those of `also`, which other hosts have; None keeps those
    that were added before. `now` is the catalogue as the host's present profile sees it.
    """
    facts = host(host_id)
    empty = Plan(facts, mode, catalog.profile.name, restart_hint=facts.restart)
    refusal = _refusal(facts, mode, gateway_path)
    if endpoint is not None and not refusal:
        in_project = places.project is not None
        refusal = why_no_url(facts, mode, endpoint, in_project=in_project)
    if refusal:
        return replace(empty, refusal=refusal)
    call = GatewayCall.here(gateway_path, empty.profile, places)
    try:
        if not facts.writable:
            title = f"Toolcrib reads the files of {facts.name} but does not write them"
            raise NotWrittenError(f"{title}; copy the snippet.")
        if endpoint is not None:
            address = _address(endpoint, empty, places)
            call = replace(call, address=address)
            empty = replace(empty, over_http=True, endpoint=endpoint, address=address)
        if isinstance(endpoint, TeamEndpoint):
            also = endpoint.reaches
        elif also is None:
            also = added_before(history, mode, places, catalog)
        empty = replace(empty, also=_checked(also, catalog, empty))
        made = _plan(empty, places, catalog, call, history, now or catalog)
        return _linked(made, places, call, catalog)
    except NotWrittenError as error:
        words = error.text
        reaches = endpoint.reaches if isinstance(endpoint, TeamEndpoint) else ()
        behind = reaches or _own_names(facts, catalog)
        call = replace(call, behind=behind or (_SOME_SERVER,))
        if endpoint is not None:
            call = replace(call, address=endpoint.example(empty.profile, call.behind))
            token = "your team token" if reaches else "the output of `toolcrib backend http token`"
            words = f"{words} Replace TOKEN with {token}."
        return replace(empty, refusal=words, snippet=snippet(facts, call))
    except ToolcribError as error:
        return _linked(replace(empty, refusal=error.text), places, call, catalog)


def with_readers(made: Plan, places: Places) -> Plan:
    """The export with the other hosts that read its files too; a survey shows none."""
    names = (name for one in made.files for name in also_read_by(places, one.path, made.host.id))
    return replace(made, also_read_by=tuple(dict.fromkeys(names)))


def _linked(made: Plan, places: Places, call: GatewayCall, catalog: Catalog) -> Plan:
    """The plan with the link to the entry that it writes, or would write; of no project."""
    if made.of_team:  # a link tells how to get the token of this machine's endpoint
        return made
    behind = tuple(dict.fromkeys((*(made.own or _own_names(made.host, catalog)), *made.also)))
    if made.mode != THROUGH or places.project is not None or not behind:
        return made
    address = made.endpoint.example(made.profile, behind) if made.endpoint else None
    call = replace(call, behind=behind, address=address)
    return replace(made, link=install_link(made.host, call))


def _address(endpoint: Endpoint, made: Plan, places: Places) -> Address:
    """URL and token for the servers that are known to be behind it by now."""
    address = endpoint.address(made.profile, made.behind or None)
    if isinstance(endpoint, TeamEndpoint):
        return by_reference(address, made.host, places)
    return address


def _own_names(facts: HostFacts, catalog: Catalog) -> tuple[str, ...]:
    """The servers that the host's files name, for a text to paste."""
    return tuple(dict.fromkeys(row.server.name for row in host_rows(facts, catalog)))


def added_before(
    history: Sequence[ExportRecord], mode: str, places: Places, catalog: Catalog
) -> list[str]:
    """Servers of other hosts that the newest such write added by name, as they are called now."""
    in_project = places.project is not None
    newest = next(
        (one for one in in_force(history) if (one.scope == "project") == in_project), None
    )
    if newest is None or newest.mode != THROUGH or mode != THROUGH:
        return []
    names = {str(name) for name in newest.detail.get("also", ())}
    return [one.name for one in catalog.servers if one.is_called(names) and one.trusted]


def _checked(names: Sequence[str], catalog: Catalog, empty: Plan) -> tuple[str, ...]:
    """The names once each; raises ToolcribError for a server that cannot be added."""
    if names and empty.mode != THROUGH:
        raise ToolcribError(
            "Servers of other hosts can be added only through Toolcrib.", "Choose --mode through."
        )
    for name in names:
        server = catalog.server(name)
        if server is None:
            known = ", ".join(one.name for one in catalog.servers if one.trusted)
            raise ToolcribError(f"There is no server called {name}.", f"Known are: {known}.")
        if not server.trusted:
            raise ToolcribError(f"{name} is not trusted yet.", f"First: toolcrib trust {name}")
    return tuple(dict.fromkeys(names))


def _refusal(facts: HostFacts, mode: str, gateway_path: Path) -> str:
    if mode not in MODES:
        return f"There is no mode called {mode}; there are {', '.join(MODES)}."
    if mode == NATIVE and facts.writable and facts.native is None:
        return f"{facts.name} has no per-tool switches in its files. Choose pruned or through."
    if mode in (PRUNED, THROUGH) and not gateway_path.is_absolute():
        return "The gateway's path must be absolute."
    return ""


def _plan(
    empty: Plan,
    places: Places,
    catalog: Catalog,
    call: GatewayCall,
    history: Sequence[ExportRecord],
    now: Catalog,
) -> Plan:
    targets = find_targets(places, empty.host, empty.mode, history)
    bases = [_base(history, one) for one in targets]
    readings = tuple(
        base_reading(target, base.data)
        for target, base in zip(targets, bases, strict=True)
        if target.role == SERVERS
    )
    if empty.mode == THROUGH:
        own = goes_behind(targets, [base.data for base in bases], catalog, call)
        empty = replace(empty, own=own, also=tuple(n for n in empty.also if n not in own))
        call = replace(call, behind=empty.behind)
        if empty.endpoint is not None:
            address = _address(empty.endpoint, empty, places)
            call, empty = replace(call, address=address), replace(empty, address=address)
    files: list[FilePlan] = []
    changes: list[FileChange] = []
    for place, base in zip(targets, bases, strict=True):
        target = replace(place, readings=readings)
        change = change_file(target, base.data, mode=empty.mode, catalog=catalog, call=call)
        changes.append(change)
        after = _after(base.data, change, target)
        if after != target.current and not _means_the_same(target, base, after):
            files.append(_file_plan(target, base, change, after))
    result = replace(empty, files=tuple(files))
    present, future = _readings(places, targets, files, empty.host)
    counts = of_project if any(target.scope == "project" for target in targets) else of_user
    native = counts is of_user and is_native(history)
    before = file_tools(
        empty.host, now, present, native=native, beside=added_since(history), counts=counts
    )
    sent = file_tools(empty.host, catalog, future, native=empty.mode == NATIVE, counts=counts)
    result = replace(
        result,
        tokens_before=before.sent.tokens,
        tools_before=before.sent.count,
        tokens_after=sent.sent.tokens,
        tools_after=sent.sent.count,
        later=sent.sent.later,
        unread=sent.unread,
        widened=not before.narrowed,
    )
    closed_only = any(target.kind.closed_only for target in targets)
    return _described(result, changes, sent.sent.tools, closed_only=closed_only)


def _base(history: Sequence[ExportRecord], target: Target) -> Base:
    with errors_of(target.path):
        return base_of(history, target.path, target.current, target.kind.format)


def _readings(
    places: Places,
    targets: Sequence[Target],
    files: Sequence[FilePlan],
    facts: HostFacts,
) -> tuple[list[HostReading], list[HostReading]]:
    """The host's files as they are, and as they would be."""
    present = list(read_host(places, facts))
    planned = {file.path: file.after for file in files}
    future = [one for one in present if one.file not in planned]
    for target in targets:
        after = planned.get(target.path)
        if after and target.kind.role == SERVERS:
            future.append(base_reading(target, after))
    return present, future


def _file_plan(target: Target, base: Base, change: FileChange, after: bytes | None) -> FilePlan:
    return FilePlan(
        path=target.path,
        scope=target.scope,
        format=target.kind.format,
        before=target.current,
        after=after,
        before_hash=hash_bytes(target.current),
        changes=change.changes or ("as it was before Toolcrib",),
        touched=change.touched,
        base=base.data,
        base_copy=base.copy,
    )


def _after(base: bytes | None, change: FileChange, target: Target) -> bytes | None:
    if base is None and not change.edits:
        return None
    start = b"" if base is None else base
    with errors_of(target.path):
        return edit(start, target.kind.format, change.edits)


def _means_the_same(target: Target, base: Base, after: bytes | None) -> bool:
    """True where a file that was edited since Toolcrib's write would change in its form alone."""
    if base.copy or not after or not target.current:
        return False
    # by their texts: true is not 1, and in some hosts' rules the order of keys decides
    values = (repr(read_values(data, target.kind.format).value) for data in (after, target.current))
    return next(values) == next(values)


def _described(
    result: Plan,
    changes: Sequence[FileChange],
    sent: Sequence[CatalogTool],
    *,
    closed_only: bool,
) -> Plan:
    warnings = list(kept_sentences(one for change in changes for one in change.kept))
    warnings += [warning for change in changes for warning in change.warnings]
    alive = bool(result.files) and is_running(result.host)
    if result.files:  # the present content was copied with it, and may be newer by now
        secrets = {name: secret for change in changes for name, secret in change.secrets}
        result = replace(result, secrets_to_store=tuple(secrets.items()))
    return replace(
        result,
        matched=sum(len(change.server_ids) for change in changes),
        warnings=tuple(dict.fromkeys(warnings + _general_warnings(result, sent, alive))),
        running=alive and closed_only,
    )


def _general_warnings(result: Plan, kept: Sequence[CatalogTool], alive: bool) -> list[str]:
    host_name = result.host.name
    warnings: list[str] = []
    if result.also and not result.of_team:
        warnings.append(
            f"{host_name} also reaches {', '.join(result.also)}, which its files do not name."
        )
    if result.widened and result.mode == THROUGH and result.files:
        warnings.append(
            f"An earlier Toolcrib gave {host_name} every server of the profile. Writing narrows it"
            f" to {plural(len(result.behind), 'server')}; add others by name to keep them."
        )
    if result.endpoint is not None:
        variable = result.address.variable if result.address is not None else ""
        warnings += host_notes(result.host, result.endpoint, result.profile, variable)
    if alive:
        warnings.append(f"{host_name} is running and may undo the change; quit it first.")
    if result.host.asks_trust and result.files:
        warnings.append(f"{host_name} will ask again whether you trust the servers that change.")
    if result.secrets_to_store:
        names = ", ".join(name for name, _ in result.secrets_to_store)
        warnings.append(f"The credentials of {names} are copied to Toolcrib's secret store.")
    if result.mode != THROUGH:
        warnings += limit_warnings(result.host, kept)
    return warnings
