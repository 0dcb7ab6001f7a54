"""The catalogue after a change of one entry, in its file or in the copy behind Toolcrib."""

from collections.abc import Iterable
from dataclasses import replace

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export.entries.plan import look_up
from app.export.history import active_writes
from app.hosts.facts import load_hosts
from app.hosts.places import Places
from app.registry.register import (
    register_file,
    register_gone,
    register_kept,
    register_restored,
)
from store import exports
from store.records import EntryRecord, ExportRecord


def register_entry(
    ctx: AppContext,
    db: apsw.Connection,
    places: Places,
    entry: EntryRecord,
    names: tuple[str, str],
) -> None:
    """Take in an entry after a write or its undo; starts nothing.

    `names` are its old and new name where it was renamed.
    """
    register_file(ctx, db, places, entry, names)
    _take_kept(ctx, db, places, replace(entry, name=names[1] or entry.name))


def register_taken_back(
    ctx: AppContext, db: apsw.Connection, places: Places, done: Iterable[ExportRecord]
) -> None:
    """Take in the files that were put back by these writes or without them; starts nothing."""
    records = tuple(done)
    register_restored(ctx, db, places, records)
    for record in records:
        change = record.detail.get("change")
        if isinstance(change, dict):
            scope, name = str(change.get("scope", "")), str(change.get("entry", ""))
            _take_kept(ctx, db, places, EntryRecord(record.host, scope, record.file, name))


def _take_kept(ctx: AppContext, db: apsw.Connection, places: Places, present: EntryRecord) -> None:
    """Take in what the copy of the file has of an entry that Toolcrib starts for the host."""
    history = exports.for_host(db, present.host)
    try:
        reading, place = look_up(places, present, history)
    except ToolcribError:
        return
    if place is None and reading.through and active_writes(history, reading.file):
        register_gone(ctx, db, present)
    elif place is not None and place.kept is not None and (launch := place.entry.launch):
        off, from_project = place.entry.disabled, place.entry.project_level
        shared = [
            facts.id
            for facts in load_hosts()
            if any(reading.file in place.places.candidates(kind) for kind in facts.files)
        ]
        for reader in dict.fromkeys([present.host, *shared]):
            one = replace(present, host=reader, disabled=off)
            register_kept(ctx, db, one, launch, from_project=from_project)
