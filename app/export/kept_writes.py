"""Writes of earlier runs that can still be taken back, as the plans that made them."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.errors import ToolcribError
from app.export import backups
from app.export.history import ChangedPlaces
from app.export.plan import EDIT, EntryChange, FilePlan, Plan
from app.hosts.facts import host
from app.hosts.importing import read_data
from app.hosts.launch import LaunchSpec
from app.hosts.places import is_file
from store import exports
from store.records import EntryRecord, ExportRecord


@dataclass(frozen=True, slots=True, repr=False)
class KeptWrite:
    """One write, all its files: to be taken back, or shown anew; a launch may hold secrets."""

    plan: Plan  # as far as its records and copies say
    ids: tuple[int, ...]
    at: float

    def __repr__(self) -> str:
        return f"KeptWrite({self.plan.host.id}, {self.ids})"


def kept_writes(db: apsw.Connection) -> tuple[KeptWrite, ...]:
    """The writes in force whose copies are still there, the oldest first."""
    groups: dict[object, list[ExportRecord]] = {}
    for record in reversed(exports.in_force(exports.all_exports(db))):
        groups.setdefault(record.group, []).append(record)
    kept = (_kept(records) for records in groups.values() if all(map(_has_copy, records)))
    return tuple(one for one in kept if one is not None)


def _has_copy(record: ExportRecord) -> bool:
    return not record.before_hash or is_file(Path(record.backup))


def _kept(records: list[ExportRecord]) -> KeptWrite | None:
    first = records[0]
    try:
        facts = host(first.host)
    except ToolcribError:  # of a build that knew this host
        return None
    plan = Plan(
        facts,
        first.mode,
        first.profile,
        tuple(map(_file, records)),
        change=change_of(first),
        over_http=first.over_http,
    )
    return KeptWrite(plan, tuple(one.id for one in records), first.at)


def _file(record: ExportRecord) -> FilePlan:
    return FilePlan(
        path=Path(record.file),
        scope=record.scope,
        format=record.format,
        before=None,
        after=backups.read(record.after_copy),
        before_hash=record.before_hash,
        changes=(),
        touched=ChangedPlaces(),
        ends=record.ended,
    )


def change_of(record: ExportRecord) -> EntryChange | None:
    """The change of one entry that the write made, None for an export."""
    noted = record.detail.get("change")
    if not isinstance(noted, dict):
        return None
    kind, entry, name, scope = (str(noted.get(k, "")) for k in ("kind", "entry", "name", "scope"))
    change = EntryChange(EntryRecord(record.host, scope, record.file, entry), kind, name)
    return replace(change, launch=_launch(record, change)) if change.kind == EDIT else change


def _launch(record: ExportRecord, change: EntryChange) -> LaunchSpec | None:
    """The launch that an edit wrote, out of the copies of what it wrote."""
    name, scope = change.name or change.entry.name, change.entry.scope
    for copy in (record.after_copy, record.base_copy):  # the second has one that Toolcrib starts
        data = backups.read(copy) or b""
        with suppress(ToolcribError):
            for entry in read_data(data, Path(record.file), record.host).entries:
                local = entry.scope.startswith("local:") or scope.startswith("local:")
                here = entry.name == name and (entry.scope == scope or not local)
                if here and entry.launch is not None:
                    return entry.launch
    return None
