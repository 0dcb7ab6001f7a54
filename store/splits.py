"""Profiles that were split: what each split made, so that it is undone in one step."""

import json

import apsw

from store.damage import json_object
from store.records import SplitRecord
from store.typed import Json

_COLUMNS = "id, made, profile, detail, undone"


def add(db: apsw.Connection, made: float, profile: str, detail: Json) -> int:
    """Remember a split; its id."""
    db.execute(
        "INSERT INTO splits (made, profile, detail) VALUES (?, ?, ?)",
        (made, profile, json.dumps(detail)),
    )
    return db.last_insert_rowid()


def save_detail(db: apsw.Connection, split_id: int, detail: Json) -> None:
    """Replace what is kept of a split."""
    db.execute("UPDATE splits SET detail = ? WHERE id = ?", (json.dumps(detail), split_id))


def mark_undone(db: apsw.Connection, split_id: int, at: float) -> None:
    """Note that a split was undone, or with 0 that it counts again."""
    db.execute("UPDATE splits SET undone = ? WHERE id = ?", (at, split_id))


def newest(db: apsw.Connection) -> SplitRecord | None:
    """The newest split that is not undone, None without one."""
    sql = f"SELECT {_COLUMNS} FROM splits WHERE undone = 0 ORDER BY id DESC LIMIT 1"
    return _record(db, sql, ())


def one(db: apsw.Connection, split_id: int) -> SplitRecord | None:
    """The split of that id, undone or not."""
    return _record(db, f"SELECT {_COLUMNS} FROM splits WHERE id = ?", (split_id,))


def _record(db: apsw.Connection, sql: str, values: tuple[int, ...]) -> SplitRecord | None:
    row = db.execute(sql, values).fetchone()
    if row is None:
        return None
    return SplitRecord(row[0], row[1], row[2], json_object(row[3]) or {}, row[4])
