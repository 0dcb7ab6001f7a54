"""The catalogue after a change of one entry, in its file or in the copy behind Toolcrib."""

from collections.abc import Iterable
from dataclasses import replace

import apsw

from app.core.context import AppContext
from app.export.entries.plan import kept_launch
from app.hosts.places import Places
from app.registry.register import register_file, register_kept, register_restored
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
    kept = kept_launch(db, places, present)
    if kept is not None:
        launch, from_project = kept
        register_kept(ctx, db, present, launch, from_project=from_project)
