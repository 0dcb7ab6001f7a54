"""Findings: reasons to distrust a tool, and what was decided about them."""

from collections.abc import Sequence

import apsw

from store.records import Finding

_COLUMNS = "id, tool_id, rule, severity, detail, hash, decided"


def save(db: apsw.Connection, tool_id: int, found: Sequence[Finding]) -> None:
    """Make the tool's open findings equal to `found`; decisions on the same text stay."""
    keep = [(f.rule, f.hash) for f in found]
    for id_, rule, hash_ in db.execute(
        "SELECT id, rule, hash FROM findings WHERE tool_id = ? AND decided = ''", (tool_id,)
    ).fetchall():
        if (rule, hash_) not in keep:
            db.execute("DELETE FROM findings WHERE id = ?", (id_,))
    db.executemany(
        "INSERT INTO findings (tool_id, rule, severity, detail, hash) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET severity = excluded.severity, detail = excluded.detail",
        [(tool_id, f.rule, f.severity, f.detail, f.hash) for f in found],
    )


def open_findings(db: apsw.Connection) -> list[Finding]:
    """Findings that nobody has decided on."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM findings WHERE decided = '' ORDER BY id")
    return [Finding(*row) for row in rows]


def all_findings(db: apsw.Connection) -> list[Finding]:
    """Every finding, decided or not."""
    return [Finding(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM findings ORDER BY id")]


def blocked(db: apsw.Connection) -> frozenset[int]:
    """Tools whose present text has an undecided finding of severity block."""
    return frozenset(row[0] for row in db.execute("SELECT tool_id FROM blocked"))


def decide(db: apsw.Connection, finding_id: int, decision: str) -> None:
    """Record a decision, or reopen the finding with ""."""
    db.execute("UPDATE findings SET decided = ? WHERE id = ?", (decision, finding_id))
