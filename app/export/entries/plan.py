"""Plan of a change to one server in a host's file: previewed and written like an export."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError, errors_of
from app.export.entries.edits import launch_edits, rename_edits, switch_edit
from app.export.entries.kept import kept_entry, with_behind
from app.export.history import Base, ChangedPlaces, active_writes, base_of
from app.export.matching import raw_at
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange, FilePlan, Plan
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import MISSING, Delete, Edit, value_at
from app.hosts.documents.values import format_of, read_values
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import EntryStyle, HostFacts, HostFile, host
from app.hosts.interpolation import only_host_fills, variables
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from app.hosts.reading import (
    FoundEntry,
    HostReading,
    also_read_by,
    hash_bytes,
    read_bytes,
    read_one,
    style_of,
)
from app.hosts.running import is_running
from app.secrets.secret_store import install_key
from store import exports, servers, serving
from store.records import AS_IS, THROUGH, EntryRecord, ExportRecord, ServerRecord
from store.typed import Json


@dataclass(frozen=True, slots=True, repr=False)
class EntryPlace:
    """One server's entry in its file now; holds what it starts, so printing is short."""

    reading: HostReading
    kind: HostFile
    entry: FoundEntry  # with its own launch, also where the file names the gateway
    places: Places  # as seen from its project
    live: FoundEntry | None  # as the file has it; None behind Toolcrib's one entry
    kept: Base | None = None  # the copy that has its launch, where the file has it no more

    @property
    def host(self) -> HostFacts:
        """Whose file it is."""
        return self.reading.host

    def __repr__(self) -> str:
        return f"EntryPlace({self.entry.name}, {self.reading.file})"


def find_entry(
    places: Places, record: EntryRecord, history: Sequence[ExportRecord] = ()
) -> EntryPlace:
    """The entry as its file has it now; ToolcribError where it may not be changed.

    With the host's writes, one behind Toolcrib is found in the copy that they keep of its file.
    """
    reading, place = look_up(places, record, history)
    if place is not None:
        return place
    if reading.through:
        raise ToolcribError(
            f"{record.name} is behind Toolcrib in {reading.host.name}.",
            f"Write {reading.host.name} as is first, or disable the server in Toolcrib.",
        )
    raise ToolcribError(f"{record.name} is no longer in {record.file}.", "Read the servers again.")


def look_up(
    places: Places, record: EntryRecord, history: Sequence[ExportRecord]
) -> tuple[HostReading, EntryPlace | None]:
    """The file of an entry and the entry, None if neither the file nor its copy has it."""
    facts, path = host(record.host), Path(record.file)
    kind, places = _kind_of(places, facts, path, record.scope)
    if kind is None or not kind.writable or kind.role != "servers":
        raise ToolcribError(
            f"Toolcrib reads {path} but does not write it.",
            f"Change {record.name} in {facts.name} itself, or disable the server in Toolcrib.",
        )
    reading = read_one(places, facts, kind, path)
    if reading.problem:
        raise ToolcribError(f"{path}: {reading.problem}", "Correct the file and try again.")
    live = next(
        (one for one in reading.entries if (one.name, one.scope) == (record.name, record.scope)),
        None,
    )
    elsewhere = reading.through if live is None else live.launch is None and live.server
    kept = kept_entry(reading, kind, record, history) if elsewhere else None
    if kept is not None:
        return reading, EntryPlace(reading, kind, kept.entry, places, live, kept.base)
    return reading, EntryPlace(reading, kind, live, places, live) if live is not None else None


def plan_entry(
    places: Places,
    change: EntryChange,
    history: Sequence[ExportRecord] = (),
    row: ServerRecord | None = None,
    *,
    called: str = "",
    alike: Sequence[str] = (),
) -> Plan:
    """The change of one entry; reads files, writes nothing.

    `history` are the host's earlier writes (store.exports.for_host): what they made stays theirs,
    so that "as is" gives the file with this change. `row` is the entry's server in the catalogue,
    `called` the name that the changed one has there; `alike` are other hosts whose running
    sessions look like this one's and are not changed so.
    """
    facts = host(change.entry.host)
    of_project = change.entry.scope == "project"
    mine = [one for one in exports.in_force(history) if (one.scope == "project") == of_project]
    newest = next(iter(mine), None)
    empty = Plan(
        facts,
        newest.mode if newest else AS_IS,
        newest.profile if newest else "",
        restart_hint=facts.restart,
        change=change,
        over_http=newest is not None and newest.over_http,
        **_reached(newest),
    )
    named = _Named(change, row, called)
    try:
        place = find_entry(places, change.entry, history)
        file = _file_plan(place, change, mine, named)
    except ToolcribError as error:
        return replace(empty, refusal=error.text)
    if file is None:
        return empty
    if file.after == file.before:  # the host notices nothing
        empty = replace(empty, restart_hint="")
    if place.live is None:
        empty = replace(empty, own=named.among(empty.own))
    if place.live is None or place.live.server:
        empty = replace(empty, parted=named.parted)
    alive = is_running(facts)
    return replace(
        empty,
        files=(file,),
        warnings=tuple(_warnings(place, change, row, empty.parted, alike)),
        also_read_by=also_read_by(place.places, place.reading.file, facts.id),
        running=alive and place.kind.closed_only,
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """Names of an entry's server among those that the host's one entry reaches."""

    change: EntryChange
    row: ServerRecord | None
    called: str  # after the change

    @property
    def parted(self) -> str:
        """The server that the changed one is from then on, "" where it stays the same."""
        return self.called if self.row is not None and self.called != self.row.name else ""

    def among(self, names: Sequence[str]) -> tuple[str, ...]:
        """These names after the change; another entry of the host may name the server too."""
        if self.row is None:
            return tuple(names)
        former, own = {self.row.name, *self.row.former}, self.change.entry
        stays = self.change.kind == ENABLE or any(
            (one.host, _is_of_project(one)) == (own.host, _is_of_project(own))
            and _place(one) != _place(own)
            and not one.disabled
            for one in self.row.entries
        )
        left = [name for name in names if stays or name not in former]
        if self.change.kind == ENABLE and not former.intersection(left):
            left.append(self.row.name)
        elif self.change.kind == EDIT and not self.parted:
            left = list(names)
        elif self.change.kind == EDIT and stays:
            left.append(self.called)
        elif self.change.kind == EDIT:
            left = [self.called if name in former else name for name in names]
        return tuple(dict.fromkeys(left))


def _reached(newest: ExportRecord | None) -> Json:
    """Servers behind the host's one entry, kept for the record of this write."""
    if newest is None or newest.mode != THROUGH:
        return {}
    if "behind" not in newest.detail:
        return {"widened": True}
    also = tuple(newest.detail.get("also", ()))
    return {"own": tuple(n for n in newest.detail["behind"] if n not in also), "also": also}


def load_plan(ctx: AppContext, db: apsw.Connection, places: Places, change: EntryChange) -> Plan:
    """Plan a change, reading the host's writes and the server's other entries from the store."""
    history = exports.for_host(db, change.entry.host)
    own = (change.entry.host, _place(change.entry))
    rows = servers.all_servers(db)
    row = next((r for r in rows if any((e.host, _place(e)) == own for e in r.entries)), None)
    called = row.name if row is not None else ""
    if row is not None and change.launch is not None:
        key = change.launch.to_spec(install_key(ctx.paths))[0].key
        called = servers.name_placed(db, change.entry, key, name=change.entry.name)
    alike = _alike(db, change, history, row) if row is not None else ()
    return plan_entry(places, change, history, row, called=called, alike=alike)


def _alike(
    db: apsw.Connection, change: EntryChange, history: Sequence[ExportRecord], row: ServerRecord
) -> tuple[str, ...]:
    """Other hosts whose session this one's may be, and whose entry keeps it from the change."""
    newest = next(iter(active_writes(history, Path(change.entry.file))), None)
    if newest is None:
        return ()
    past, now = serving.past_entries(db, newest.profile), serving.entries_of(db, newest.profile)
    mine, files = past.pop(change.entry.file, set()), set()
    for file, sets in past.items():
        for names in sets & mine:
            first = serving.server_ids(db, names)
            today = serving.server_ids(db, now.get(file, names))
            again = change.kind == ENABLE
            if row.id not in first | today if again else row.id in first & today:
                files.add(file)
    others = [host(one.host).name for one in exports.all_exports(db) if one.file in files]
    return tuple(dict.fromkeys(others))


def load_entry(db: apsw.Connection, places: Places, record: EntryRecord) -> EntryPlace:
    """Find an entry, reading the host's writes from the store."""
    return find_entry(places, record, exports.for_host(db, record.host))


def _kind_of(
    places: Places, facts: HostFacts, path: Path, scope: str
) -> tuple[HostFile | None, Places]:
    """Kind of this file of the host, and the places seen from its project."""
    folders: list[Path | None] = [places.project]
    if scope == "project":
        folders = [places.project, path.parent, path.parent.parent]
    for folder in folders:
        seen = replace(places, project=folder)
        for kind in facts.files:
            if path in seen.candidates(kind):
                return kind, seen
    return None, places


def _file_plan(
    place: EntryPlace, change: EntryChange, mine: Sequence[ExportRecord], named: _Named
) -> FilePlan | None:
    """The change in the file, and in the copy that "as is" is written from."""
    path, kind = place.reading.file, place.kind.format
    before = read_bytes(path)
    _refuse(place, change)
    if place.live is None:
        after: bytes | None = with_behind(before, place.reading, _behind(place, named))
    else:
        after = edited(before, place.reading, place.live, change, named.parted)
    base = place.kept
    if base is None:
        base = base_of(mine, path, before, kind) if active_writes(mine, path) else Base(before)
    without = after
    if place.kept is not None or base.data != before:
        without = edited(base.data, place.reading, place.entry, change)
    if after == before and without == base.data:
        return None
    unseen = place.live is None or (place.kept is not None and change.launch is not None)
    return FilePlan(
        path=path,
        scope=place.kind.scope,
        format=kind,
        before=before,
        after=after,
        before_hash=hash_bytes(before),
        changes=(change.words,),
        touched=_touched(place, change, mine),
        base=without,
        kept=base.data if unseen else None,
    )


def _behind(place: EntryPlace, named: _Named) -> tuple[str, ...]:
    """Servers that the host's one entry reaches after the change of one behind it."""
    now, name = place.reading.behind, place.host.name
    after = named.among(now or ())
    if after or named.change.kind == EDIT:
        return after
    if now is None:
        raise ToolcribError(
            f"An earlier Toolcrib gave {name} every server of its profile.",
            f"Write {name} again first.",
        )
    raise ToolcribError(
        f"{place.entry.name} is the only server behind Toolcrib in {name}.",
        f"Write {name} as is first.",
    )


def _touched(place: EntryPlace, change: EntryChange, mine: Sequence[ExportRecord]) -> ChangedPlaces:
    """Places that earlier writes in force changed, the entry's under its new name."""
    newest = next(iter(active_writes(mine, place.reading.file)), None)
    touched = ChangedPlaces.of(newest)
    if not _renames(place, change):
        return touched
    return touched.under_new_name(place.entry.at, change.name)


def _refuse(place: EntryPlace, change: EntryChange) -> None:
    entry, name = place.entry, place.host.name
    if change.kind in (DISABLE, ENABLE) and not (
        place.host.switch and style_of(place.reading).off is not None
    ):
        raise ToolcribError(
            f"{name} has no key in its file that switches a server off.",
            "Remove the entry there, or disable the server in Toolcrib.",
        )
    if change.launch is not None and entry.launch is None:
        raise ToolcribError(f"What {entry.name} starts is not known.", "Change it in the file.")
    if change.launch is not None and place.kept is not None:
        _refuse_hosts_values(place, change.launch)
    if _renames(place, change) and change.name == THROUGH_NAME:
        raise ToolcribError(f"{THROUGH_NAME} is the name of Toolcrib's own entry.", "Take another.")
    if _renames(place, change) and not (change.name.strip() and change.name.isprintable()):
        raise ToolcribError("This name is empty, or has characters that cannot be seen.")


def _refuse_hosts_values(place: EntryPlace, new: LaunchSpec) -> None:
    """Raise ToolcribError for values of the host, which the gateway does not get by an edit."""
    facts, known = place.host, place.entry.launch
    names = list(only_host_fills(new))
    if known is not None and (facts.interpolation or facts.style.passes):
        had = variables(known)
        names += [spelled for name, spelled in variables(new).items() if name not in had]
    if names:
        raise ToolcribError(
            f"{names[0]} comes from {facts.name}, and Toolcrib starts the server.",
            f"Write {facts.name} as is first, then edit it.",
        )


def edited(
    data: bytes | None,
    reading: HostReading,
    entry: FoundEntry,
    change: EntryChange,
    server: str = "",
) -> bytes | None:
    """The file's bytes with the change; unchanged where the entry is missing."""
    if data is None:
        return None
    kind = reading.kind.format if reading.kind else format_of(reading.file)
    with errors_of(reading.file):
        tree = read_values(data, kind).value
        if value_at(tree, entry.at, MISSING) is MISSING:
            return data
        raw = raw_at(tree, entry.at)
        return edit(data, kind, _edits(raw, entry, style_of(reading), change, server))


def _edits(
    raw: object, entry: FoundEntry, style: EntryStyle, change: EntryChange, server: str
) -> Sequence[Edit]:
    at = entry.at
    if change.kind == REMOVE:
        return [Delete(at)]
    if change.kind in (DISABLE, ENABLE):
        if entry.disabled == (change.kind == DISABLE):
            return []
        return [switch_edit(at, style, disabled=change.kind == DISABLE)]
    edits: list[Edit] = []
    if change.launch is not None:
        edits += launch_edits(at, raw, style, change.launch, server)
    if change.name and change.name != entry.name:
        edits += rename_edits(at, raw, change.name)
    return edits


def _is_of_project(entry: EntryRecord) -> bool:
    return entry.scope == "project"


def _place(entry: EntryRecord) -> tuple[str, str, str]:
    return entry.file, entry.scope, entry.name


def _renames(place: EntryPlace, change: EntryChange) -> bool:
    return bool(change.name) and change.name != place.entry.name


def _warnings(
    place: EntryPlace,
    change: EntryChange,
    row: ServerRecord | None,
    parted: str,
    alike: Sequence[str],
) -> Sequence[str]:
    facts, warnings = place.host, []
    if is_running(facts):
        warnings.append(f"{facts.name} is running and may undo the change; quit it first.")
    renamed = _renames(place, change)
    if renamed:
        warnings.append("In the Catalog the server keeps its name, and with it ticks and labels.")
    if (renamed or change.kind == REMOVE) and facts.native and facts.native.form:
        warnings.append(f"Rules in {facts.name} that name tools of this server no longer apply.")
    if place.live is None or place.live.pruned:
        warnings.append(_through_toolcrib(place, change, alike))
    elif facts.asks_trust and change.kind == EDIT:
        warnings.append(f"{facts.name} may ask again whether you trust the server.")
    own = change.entry  # other hosts that read this very file are told apart from those
    others = row.entries if row is not None else ()
    rest = [host(one.host).name for one in others if _place(one) != _place(own)]
    if rest and change.kind in (EDIT, REMOVE):
        warnings.append(f"It is also in {', '.join(dict.fromkeys(rest))}, where it stays.")
    if parted:
        warnings.append(f"In the Catalog it becomes {parted}. Read its tools there afterwards.")
    return warnings


def _through_toolcrib(place: EntryPlace, change: EntryChange, alike: Sequence[str]) -> str:
    """The effect on a server that Toolcrib starts for the host, now and after "as is"."""
    name = place.host.name
    later = f"This is what {name} gets back when you write it as is."
    if change.kind != EDIT:
        if place.live is not None:
            return later
        again = change.kind == ENABLE
        if alike:
            same = f"A running session does not say if it is {name}'s or {' or '.join(alike)}'s"
            reaches = "reaches it through Toolcrib again from its next start on"
            if not again:
                reaches = "may reach it through Toolcrib until its next start"
            return f"{name} {reaches}. {same}. {later}"
        if again:
            return f"{name} reaches it through Toolcrib again, also where it runs. {later}"
        return (
            f"{name} reaches it no more, also where it runs; a call under way ends first. {later}"
        )
    if place.kept is None:
        return f"{name} goes on starting it through Toolcrib. {later}"
    return f"{name} reaches it through Toolcrib, which starts it so from the next call on. {later}"
