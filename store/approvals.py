"""Calls that wait for a person's yes."""

import apsw

from store.records import Approval, storable

_COLUMNS = "id, made, expires, profile, session, host, tool, hash, arguments, state"
_KEPT = 1_000  # decided rows


def add(db: apsw.Connection, call: Approval) -> int:
    """Add a waiting call; its id (the record's own id is ignored)."""
    db.execute(
        "DELETE FROM approvals WHERE state <> 'waiting'"
        " AND id <= (SELECT max(id) FROM approvals) - ?",
        (_KEPT,),
    )
    row = db.execute(
        "INSERT INTO approvals"
        " (made, expires, profile, session, host, tool, hash, arguments, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting') RETURNING id",
        (
            call.made,
            call.expires,
            call.profile,
            call.session,
            storable(call.host),
            call.tool,
            call.hash,
            storable(call.arguments),
        ),
    )
    return int(next(iter(row))[0])


def waiting(db: apsw.Connection, now: float) -> list[Approval]:
    """Calls that wait for a decision, the oldest first."""
    sql = f"SELECT {_COLUMNS} FROM approvals WHERE state = 'waiting' AND expires > ? ORDER BY id"
    return [Approval(*row) for row in db.execute(sql, (now,))]


def find(db: apsw.Connection, approval_id: int) -> Approval | None:
    """A call by its id."""
    row = db.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (approval_id,)).fetchone()
    return Approval(*row) if row else None


def states(db: apsw.Connection, session: str) -> dict[int, str]:
    """State of each call that a gateway's session added."""
    return dict(db.execute("SELECT id, state FROM approvals WHERE session = ?", (session,)))


def decide(db: apsw.Connection, approval_id: int, state: str, now: float) -> bool:
    """Decide a call that waits; False where it waits no more."""
    db.execute(
        "UPDATE approvals SET state = ?, arguments = ''"
        " WHERE id = ? AND state = 'waiting' AND expires > ?",
        (state, approval_id, now),
    )
    return db.changes() == 1


def take(db: apsw.Connection, approval_id: int) -> bool:
    """Mark an allowed call as sent; True for one caller only."""
    db.execute(
        "UPDATE approvals SET state = 'sent' WHERE id = ?"
        " AND state IN ('allowed', 'session', 'always')",
        (approval_id,),
    )
    return db.changes() == 1


def end(db: apsw.Connection, approval_id: int, state: str) -> bool:
    """End a call that still waits, as expired or gone; False where it was decided meanwhile."""
    db.execute(
        "UPDATE approvals SET state = ?, arguments = '' WHERE id = ? AND state = 'waiting'",
        (state, approval_id),
    )
    return db.changes() == 1


def allow_always(db: apsw.Connection, profile: str, tool: str, tool_hash: str, at: float) -> None:
    """Ask no more about this text of a tool in this profile."""
    db.execute(
        "INSERT OR IGNORE INTO always_allowed (profile, tool, hash, made) VALUES (?, ?, ?, ?)",
        (profile, tool, tool_hash, at),
    )


def is_always_allowed(db: apsw.Connection, profile: str, tool: str, tool_hash: str) -> bool:
    """True if the user allowed this text of the tool for good."""
    sql = "SELECT 1 FROM always_allowed WHERE profile = ? AND tool = ? AND hash = ?"
    return db.execute(sql, (profile, tool, tool_hash)).fetchone() is not None


def always_allowed(db: apsw.Connection) -> list[tuple[str, str]]:
    """(profile, tool) of every tool that is allowed for good."""
    return list(db.execute("SELECT DISTINCT profile, tool FROM always_allowed ORDER BY 1, 2"))


def forget_always(db: apsw.Connection, profile: str, tool: str) -> bool:
    """Ask about a tool again; False where it was not allowed for good."""
    db.execute("DELETE FROM always_allowed WHERE profile = ? AND tool = ?", (profile, tool))
    return db.changes() > 0
