"""Labelled queries, calibration runs, and small binary results such as a learned projection."""

import json
from collections.abc import Iterable

import apsw

from store.damage import json_array, json_object
from store.records import LabelRecord, RunRecord


def labels(db: apsw.Connection) -> list[LabelRecord]:
    """Every labelled query, the oldest first."""
    rows = db.execute("SELECT id, query, expected, source, at FROM labels ORDER BY at, id")
    return [
        LabelRecord(id_, query, tuple(map(str, tools)), source, at)
        for id_, query, expected, source, at in rows
        if (tools := json_array(expected)) is not None
    ]


def save_labels(db: apsw.Connection, rows: Iterable[LabelRecord]) -> int:
    """Add labelled queries; how many were new (the same query and tools count once)."""
    before = db.total_changes()
    db.executemany(
        "INSERT OR IGNORE INTO labels (query, expected, source, at) VALUES (?, ?, ?, ?)",
        [(r.query, json.dumps(sorted(r.expected)), r.source, r.at) for r in rows],
    )
    return int(db.total_changes() - before)


def labels_state(db: apsw.Connection) -> str:
    """A value that differs when labels changed (0.2 ms for a thousand)."""
    sql = "SELECT coalesce(group_concat(query || expected), '') FROM labels"
    return str(next(db.execute(sql))[0])


def delete_label(db: apsw.Connection, label_id: int) -> None:
    """Forget one labelled query."""
    db.execute("DELETE FROM labels WHERE id = ?", (label_id,))


def drop_labels(db: apsw.Connection, rows: Iterable[LabelRecord]) -> None:
    """Forget labelled queries by their query and tools, whatever rows hold them."""
    db.executemany(
        "DELETE FROM labels WHERE query = ? AND expected = ?",
        [(r.query, json.dumps(sorted(r.expected))) for r in rows],
    )


def save_run(db: apsw.Connection, run: RunRecord) -> int:
    """Store a calibration run; its id."""
    db.execute(
        "INSERT INTO runs (at, fingerprint, settings, result) VALUES (?, ?, ?, ?)",
        (run.at, run.fingerprint, json.dumps(run.settings), json.dumps(run.result)),
    )
    return db.last_insert_rowid()


def runs(db: apsw.Connection) -> list[RunRecord]:
    """Every calibration run, newest first."""
    sql = "SELECT id, at, fingerprint, settings, result FROM runs ORDER BY id DESC"
    return [
        RunRecord(id_, at, fingerprint, settings, result)
        for id_, at, fingerprint, *texts in db.execute(sql)
        for settings, result in [map(json_object, texts)]
        if settings is not None and result is not None
    ]


def blob(db: apsw.Connection, name: str) -> tuple[str, bytes] | None:
    """A stored result with the fingerprint of what it was made from, or None."""
    row = db.execute("SELECT fingerprint, data FROM blobs WHERE name = ?", (name,)).fetchone()
    return (row[0], bytes(row[1])) if row else None


def blob_fingerprint(db: apsw.Connection, name: str) -> str | None:
    """Fingerprint of a stored result's inputs, without the result; None where it is not stored."""
    row = db.execute("SELECT fingerprint FROM blobs WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else None


def save_blob(db: apsw.Connection, name: str, *, fingerprint: str, data: bytes, at: float) -> None:
    """Store a result, replacing one of the same name."""
    db.execute(
        "INSERT OR REPLACE INTO blobs (name, fingerprint, data, at) VALUES (?, ?, ?, ?)",
        (name, fingerprint, data, at),
    )


def delete_blob(db: apsw.Connection, name: str) -> None:
    """Forget a stored result."""
    db.execute("DELETE FROM blobs WHERE name = ?", (name,))
