"""Proposals that the user put off, for a while or for good."""

import apsw

from store.records import PutOff


def put(db: apsw.Connection, proposal: str, title: str, until: float, at: float) -> None:
    """Put a proposal off until a moment, 0 for good."""
    db.execute(
        "INSERT INTO put_off (proposal, title, until, made) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (proposal) DO UPDATE SET title = excluded.title, until = excluded.until,"
        " made = excluded.made",
        (proposal, title, until, at),
    )


def forget(db: apsw.Connection, proposal: str) -> bool:
    """Let a proposal be made again; False where it was not put off."""
    db.execute("DELETE FROM put_off WHERE proposal = ?", (proposal,))
    return db.changes() > 0


def one(db: apsw.Connection, proposal: str) -> PutOff | None:
    """The decision on a proposal, None without one."""
    sql = "SELECT proposal, title, until, made FROM put_off WHERE proposal = ?"
    row = db.execute(sql, (proposal,)).fetchone()
    return PutOff(*row) if row else None


def in_force(db: apsw.Connection, now: float) -> list[PutOff]:
    """Those that are put off now, the newest first."""
    sql = (
        "SELECT proposal, title, until, made FROM put_off WHERE until = 0 OR until > ?"
        " ORDER BY made DESC, proposal"
    )
    return [PutOff(*row) for row in db.execute(sql, (now,))]
