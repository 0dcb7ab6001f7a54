"""Plan of a change to one server in a host's file: previewed and written like an export."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export.entries.edits import launch_edits, rename_edits, switch_edit
from app.export.entries.kept import kept_entry, refuse_kept, with_server_called
from app.export.history import Base, ChangedPlaces, active_writes, base_of
from app.export.matching import raw_at
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange, FilePlan, Plan
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Edit
from app.hosts.documents.values import read_values
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HostFacts, HostFile, host
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
from store import exports, servers
from store.records import AS_IS, THROUGH, EntryRecord, ExportRecord
from store.typed import Json


@dataclass(frozen=True, slots=True, repr=False)
class EntryPlace:
    """One server's entry in its file now; holds what it starts, so printing is short."""

    reading: HostReading
    kind: HostFile
    entry: FoundEntry
    places: Places  # as seen from its project
    kept: Base | None = None  # the copy that has it, where it is behind Toolcrib's one entry

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
    for entry in reading.entries:
        if (entry.name, entry.scope) == (record.name, record.scope):
            return EntryPlace(reading, kind, entry, places)
    kept = kept_entry(reading, kind, record, history) if reading.through else None
    if kept is not None:
        return EntryPlace(reading, kind, kept.entry, places, kept.base)
    if reading.through:
        raise ToolcribError(
            f"{record.name} is behind Toolcrib in {facts.name}.",
            f"Write {facts.name} as is first, or disable the server in Toolcrib.",
        )
    raise ToolcribError(f"{record.name} is no longer in {path}.", "Read the servers again.")


def plan_entry(
    places: Places,
    change: EntryChange,
    history: Sequence[ExportRecord] = (),
    others: Sequence[EntryRecord] = (),
    *,
    server: str = "",
    called: str = "",
) -> Plan:
    """The change of one entry; reads files, writes nothing.

    `history` are the host's earlier writes (store.exports.for_host): what they made stays theirs,
    so that "as is" gives the file with this change. `others` are the server's other entries;
    `server` is its name in the catalogue, `called` the name that the changed one has there.
    """
    facts = host(change.entry.host)
    of_project = change.entry.scope == "project"
    mine = [one for one in exports.standing(history) if (one.scope == "project") == of_project]
    newest = next(iter(mine), None)
    empty = Plan(
        facts,
        newest.mode if newest else AS_IS,
        newest.profile if newest else "",
        restart_hint=facts.restart,
        change=change,
        over_http=bool(newest and newest.detail.get("http")),
        **_reached(newest),
    )
    try:
        place = find_entry(places, change.entry, history)
        if place.kept is not None:
            file = _kept_plan(place, place.kept, change, mine, names=(server, called or server))
            own = tuple(called if called and name == server else name for name in empty.own)
            parted = called if called != server else ""
            # the host notices nothing
            empty = replace(empty, own=own, restart_hint="", parted=parted)
        else:
            file = _file_plan(place, change, mine)
    except ToolcribError as error:
        return replace(empty, refusal=f"{error.title} {error.hint}".strip())
    if file is None:
        return empty
    alive = is_running(facts)
    return replace(
        empty,
        files=(file,),
        warnings=tuple(_warnings(place, change, others, empty.parted)),
        also_read_by=also_read_by(place.places, place.reading.file, facts.id),
        running=alive and place.kind.write == "closed-only",
    )


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
    rows = servers.all_servers(db)
    own = (change.entry.host, _place(change.entry))
    row = next((r for r in rows if any((e.host, _place(e)) == own for e in r.entries)), None)
    if row is None:
        return plan_entry(places, change, history)
    called = ""
    if change.launch is not None:
        key = change.launch.to_spec(install_key(ctx.paths))[0].key
        called = servers.name_placed(db, change.entry, key, name=change.entry.name)
    return plan_entry(places, change, history, row.entries, server=row.name, called=called)


def load_entry(db: apsw.Connection, places: Places, record: EntryRecord) -> EntryPlace:
    """Find an entry, reading the host's writes from the store."""
    return find_entry(places, record, exports.for_host(db, record.host))


def kept_launch(
    db: apsw.Connection, places: Places, record: EntryRecord
) -> tuple[LaunchSpec, bool] | None:
    """Launch of an entry behind Toolcrib, and True if a project names it; None for any other."""
    try:
        place = load_entry(db, places, record)
    except ToolcribError:
        return None
    if place.kept is None or place.entry.launch is None:
        return None
    return place.entry.launch, place.entry.project_level


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
    place: EntryPlace, change: EntryChange, mine: Sequence[ExportRecord]
) -> FilePlan | None:
    path, kind = place.reading.file, place.kind.format
    before = read_bytes(path)
    _refuse(place, change)
    after = _edited(before, place, change)
    if after == before:
        return None
    base = base_of(mine, path, before, kind) if active_writes(mine, path) else Base(before)
    without = after if base.data == before else _edited(base.data, place, change)
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
    )


def _kept_plan(
    place: EntryPlace,
    base: Base,
    change: EntryChange,
    mine: Sequence[ExportRecord],
    *,
    names: tuple[str, str],
) -> FilePlan | None:
    """The change in the copy; the file itself changes where its one entry names the server."""
    refuse_kept(change, place.entry.name, place.host.name)
    _refuse(place, change)
    path, before = place.reading.file, read_bytes(place.reading.file)
    without = _edited(base.data, place, change)
    if without == base.data:
        return None
    return FilePlan(
        path=path,
        scope=place.kind.scope,
        format=place.kind.format,
        before=before,
        after=with_server_called(before, place.reading, *names),
        before_hash=hash_bytes(before),
        changes=(change.words,),
        touched=_touched(place, change, mine),
        base=without,
        kept=base.data,
    )


def _touched(place: EntryPlace, change: EntryChange, mine: Sequence[ExportRecord]) -> ChangedPlaces:
    """Places that earlier writes in force changed, the entry's under its new name."""
    active = active_writes(mine, place.reading.file)
    touched = ChangedPlaces.from_json(active[0].detail.get("touched", {}) if active else {})
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
    if change.kind == EDIT and entry.pruned:
        raise ToolcribError(
            f"{entry.name} runs through Toolcrib in {name}.",
            f"Write {name} as is first, then edit it.",
        )
    if _renames(place, change) and change.name == THROUGH_NAME:
        raise ToolcribError(f"{THROUGH_NAME} is the name of Toolcrib's own entry.", "Take another.")
    if _renames(place, change) and not (change.name.strip() and change.name.isprintable()):
        raise ToolcribError("This name is empty, or has characters that cannot be seen.")


def _edited(data: bytes | None, place: EntryPlace, change: EntryChange) -> bytes | None:
    """The file's bytes with the change; unchanged where the entry is missing."""
    if data is None:
        return None
    path, kind, at = place.reading.file, place.kind.format, place.entry.at
    try:
        tree = read_values(data, kind).value
        try:
            raw = raw_at(tree, at)
        except (KeyError, IndexError, TypeError):
            return data
        return edit(data, kind, _edits(raw, place, change))
    except ToolcribError as error:
        raise ToolcribError(f"{path}: {error.title}", error.hint) from error


def _edits(raw: object, place: EntryPlace, change: EntryChange) -> Sequence[Edit]:
    at, style = place.entry.at, style_of(place.reading)
    if change.kind == REMOVE:
        return [Delete(at)]
    if change.kind in (DISABLE, ENABLE):
        if place.entry.disabled == (change.kind == DISABLE):
            return []
        return [switch_edit(at, style, disabled=change.kind == DISABLE)]
    edits: list[Edit] = []
    if change.launch is not None:
        edits += launch_edits(at, raw, style, change.launch)
    if _renames(place, change):
        edits += rename_edits(at, raw, change.name)
    return edits


def _place(entry: EntryRecord) -> tuple[str, str, str]:
    return entry.file, entry.scope, entry.name


def _renames(place: EntryPlace, change: EntryChange) -> bool:
    return bool(change.name) and change.name != place.entry.name


def _warnings(
    place: EntryPlace, change: EntryChange, others: Sequence[EntryRecord], parted: str
) -> Sequence[str]:
    facts, warnings = place.host, []
    if is_running(facts):
        warnings.append(f"{facts.name} is running and may undo the change; quit it first.")
    renamed = _renames(place, change)
    if renamed:
        warnings.append("In the Catalog the server keeps its name, and with it ticks and labels.")
    if (renamed or change.kind == REMOVE) and facts.native and facts.native.form:
        warnings.append(f"Rules in {facts.name} that name tools of this server no longer apply.")
    if place.kept is not None:
        warnings.append(
            f"{facts.name} reaches it through Toolcrib, which starts it so from the next call on."
            f" This is what {facts.name} gets back when you write it as is."
        )
    elif facts.asks_trust and change.kind == EDIT:
        warnings.append(f"{facts.name} may ask again whether you trust the server.")
    own = change.entry  # other hosts that read this very file are told apart from those
    rest = [host(one.host).name for one in others if _place(one) != _place(own)]
    if rest and change.kind in (EDIT, REMOVE):
        warnings.append(f"It is also in {', '.join(dict.fromkeys(rest))}, where it stays.")
    if parted:
        warnings.append(f"In the Catalog it becomes {parted}. Read its tools there afterwards.")
    return warnings
