"""Profiles and each tool's state in them."""

import json
from collections.abc import Iterable

import apsw

from store.damage import NO_SERVERS, json_object
from store.records import ProfileRecord, ToolState
from store.typed import Json


def all_profiles(db: apsw.Connection) -> list[ProfileRecord]:
    """Every profile, the oldest first."""
    rows = db.execute("SELECT id, name, settings FROM profiles ORDER BY id")
    return [ProfileRecord(id_, name, _settings(text)) for id_, name, text in rows]


def by_name(db: apsw.Connection, name: str) -> ProfileRecord | None:
    """The profile of that name, or None."""
    row = db.execute("SELECT id, name, settings FROM profiles WHERE name = ?", (name,)).fetchone()
    return ProfileRecord(row[0], row[1], _settings(row[2])) if row else None


def create(
    db: apsw.Connection, name: str, *, settings: Json | None = None, copy_of: int | None = None
) -> ProfileRecord:
    """A new profile, empty (every tool on) or with another one's settings and states."""
    if copy_of is not None and settings is None:
        row = db.execute("SELECT settings FROM profiles WHERE id = ?", (copy_of,)).fetchone()
        settings = _settings(row[0]) if row else {}
    db.execute(
        "INSERT INTO profiles (name, settings) VALUES (?, ?)", (name, json.dumps(settings or {}))
    )
    new_id = db.last_insert_rowid()
    if copy_of is not None:
        db.execute(
            "INSERT INTO profile_tools (profile_id, tool_id, is_on, pinned, held)"
            " SELECT ?, tool_id, is_on, pinned, held FROM profile_tools WHERE profile_id = ?",
            (new_id, copy_of),
        )
    return ProfileRecord(new_id, name, settings or {})


def rename(db: apsw.Connection, profile_id: int, name: str) -> None:
    """Give a profile another name; names are unique."""
    db.execute("UPDATE profiles SET name = ? WHERE id = ?", (name, profile_id))


def delete(db: apsw.Connection, profile_id: int) -> None:
    """Forget a profile and its ticks."""
    db.execute("DELETE FROM profiles WHERE id = ?", (profile_id,))


def save_settings(db: apsw.Connection, profile_id: int, settings: Json) -> None:
    """Replace a profile's settings."""
    db.execute("UPDATE profiles SET settings = ? WHERE id = ?", (json.dumps(settings), profile_id))


def states(db: apsw.Connection, profile_id: int) -> dict[int, ToolState]:
    """The tools that have a state of their own; all others are on, not pinned, not held."""
    rows = db.execute(
        "SELECT tool_id, is_on, pinned, held FROM profile_tools WHERE profile_id = ?",
        (profile_id,),
    )
    return {
        tool_id: ToolState(tool_id, bool(on), bool(pinned), held)
        for tool_id, on, pinned, held in rows
    }


def put_back(db: apsw.Connection, record: ProfileRecord, states: Iterable[ToolState]) -> None:
    """Store a deleted profile under its old id; states of tools that are gone are left out."""
    taken = db.execute("SELECT 1 FROM profiles WHERE id = ?", (record.id,)).fetchone()
    db.execute(
        "INSERT INTO profiles (id, name, settings) VALUES (?, ?, ?)",
        (None if taken else record.id, record.name, json.dumps(record.settings)),
    )
    new_id = db.last_insert_rowid()
    db.executemany(
        "INSERT INTO profile_tools (profile_id, tool_id, is_on, pinned, held)"
        " SELECT ?, id, ?, ?, ? FROM tools WHERE id = ?",
        [(new_id, int(s.on), int(s.pinned), s.held, s.tool_id) for s in states],
    )


def set_on(db: apsw.Connection, profile_id: int, tool_ids: Iterable[int], on: bool) -> None:
    """Tick tools on or off."""
    _set(db, profile_id, tool_ids, "is_on", int(on))


def set_pinned(db: apsw.Connection, profile_id: int, tool_ids: Iterable[int], pinned: bool) -> None:
    """Pin or unpin tools: pinned ones are always shown."""
    _set(db, profile_id, tool_ids, "pinned", int(pinned))


def set_held(db: apsw.Connection, profile_id: int, tool_ids: Iterable[int], reason: str) -> None:
    """Hold tools back for a reason, or let them go with ""."""
    _set(db, profile_id, tool_ids, "held", reason)


def _settings(text: str) -> Json:
    """A profile's settings; what cannot be read lets no server through."""
    settings = json_object(text)
    return dict(NO_SERVERS) if settings is None else settings


def _set(
    db: apsw.Connection, profile_id: int, tool_ids: Iterable[int], column: str, value: int | str
) -> None:
    db.executemany(
        f"INSERT INTO profile_tools (profile_id, tool_id, {column}) VALUES (?, ?, ?)"
        f" ON CONFLICT DO UPDATE SET {column} = excluded.{column}",
        [(profile_id, tool_id, value) for tool_id in tool_ids],
    )
