"""Writes of host files, kept so that each can be undone."""

import json
from collections.abc import Collection
from typing import Any

import apsw

from store.damage import json_object
from store.records import AS_IS, HOOK, ExportRecord

_COLUMNS = (
    "id, at, host, scope, file, mode, profile, before_hash, after_hash, backup, undone_at, detail"
)


def add(db: apsw.Connection, record: ExportRecord) -> int:
    """Store one write; its id (the record's own id is ignored)."""
    db.execute(
        "INSERT INTO exports (at, host, scope, file, mode, profile, before_hash, after_hash,"
        " backup, undone_at, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.at,
            record.host,
            record.scope,
            record.file,
            record.mode,
            record.profile,
            record.before_hash,
            record.after_hash,
            record.backup,
            record.undone_at,
            json.dumps(record.detail, ensure_ascii=False),
        ),
    )
    return db.last_insert_rowid()


def for_host(db: apsw.Connection, host: str) -> list[ExportRecord]:
    """A host's writes that are about servers, newest first."""
    sql = f"SELECT {_COLUMNS} FROM exports WHERE host = ? AND mode != ? ORDER BY id DESC"
    return [_export(row) for row in db.execute(sql, (host, HOOK))]


def hooks_of(db: apsw.Connection, host: str) -> list[ExportRecord]:
    """A host's writes that are about hooks, newest first."""
    sql = f"SELECT {_COLUMNS} FROM exports WHERE host = ? AND mode = ? ORDER BY id DESC"
    return [_export(row) for row in db.execute(sql, (host, HOOK))]


def all_exports(db: apsw.Connection) -> list[ExportRecord]:
    """Every write, newest first."""
    return [_export(row) for row in db.execute(f"SELECT {_COLUMNS} FROM exports ORDER BY id DESC")]


def in_force(history: Collection[ExportRecord]) -> list[ExportRecord]:
    """The writes that were not taken back, newest first."""
    return sorted((one for one in history if not one.undone_at), key=lambda one: -one.id)


def newest_own(history: Collection[ExportRecord]) -> ExportRecord | None:
    """The newest write in force to a host's own files, not a project's; None without one."""
    return next((one for one in in_force(history) if one.scope != "project"), None)


def mode_of(history: Collection[ExportRecord]) -> str:
    """Mode of a host by the writes to its own files that are in force."""
    newest = newest_own(history)
    return newest.mode if newest is not None else AS_IS


def behind_of(history: Collection[ExportRecord]) -> tuple[str, ...] | None:
    """The servers that the newest such write put behind a host's one entry; None where it does not
    say, as those of earlier builds, whose hosts reach every server of their profile."""
    newest = newest_own(history)
    names = newest.detail.get("behind") if newest is not None else None
    return tuple(map(str, names)) if isinstance(names, list) else None


def one(db: apsw.Connection, export_id: int) -> ExportRecord | None:
    """The write with that id, or None."""
    row = db.execute(f"SELECT {_COLUMNS} FROM exports WHERE id = ?", (export_id,)).fetchone()
    return _export(row) if row else None


def mark_undone(db: apsw.Connection, export_id: int, at: float) -> None:
    """Record that a write was taken back."""
    db.execute("UPDATE exports SET undone_at = ? WHERE id = ?", (at, export_id))


def make_anew(db: apsw.Connection, record: ExportRecord) -> None:
    """Store a write anew that is over another one by now; its id and time stay."""
    db.execute(
        "UPDATE exports SET mode = ?, profile = ?, before_hash = ?, after_hash = ?, backup = ?,"
        " detail = ? WHERE id = ?",
        (
            record.mode,
            record.profile,
            record.before_hash,
            record.after_hash,
            record.backup,
            json.dumps(record.detail, ensure_ascii=False),
            record.id,
        ),
    )


def _export(row: tuple[Any, ...]) -> ExportRecord:
    return ExportRecord(*(*row[:11], json_object(row[11]) or {}))
