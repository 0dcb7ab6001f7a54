"""Findings: reasons to distrust a tool, and what was decided about them."""

from collections.abc import Sequence

import apsw

from store.records import Finding

_COLUMNS = "id, tool_id, rule, severity, detail, hash, decided, found_at, decided_at"
APPROVED, KEPT = "approved", "kept"  # decisions; a tool that is kept is kept from hosts


def save(db: apsw.Connection, tool_id: int, findings: Sequence[Finding], at: float) -> None:
    """Make the tool's open findings equal to `found`; decisions on the same text stay.

    What a newer scanner finds in a text that was approved is approved with it.
    """
    keep = [(f.rule, f.hash) for f in findings]
    for id_, rule, hash_ in db.execute(
        "SELECT id, rule, hash FROM findings WHERE tool_id = ? AND decided = ''", (tool_id,)
    ).fetchall():
        if (rule, hash_) not in keep:
            db.execute("DELETE FROM findings WHERE id = ?", (id_,))
    approved = dict(
        db.execute(
            "SELECT hash, max(decided_at) FROM findings WHERE tool_id = ? AND decided = ?"
            " GROUP BY hash",
            (tool_id, APPROVED),
        )
    )
    db.executemany(
        "INSERT INTO findings (tool_id, rule, severity, detail, hash, found_at, decided,"
        " decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET severity = excluded.severity, detail = excluded.detail",
        [
            (tool_id, f.rule, f.severity, f.detail, f.hash, at,
             APPROVED if f.hash in approved else "", approved.get(f.hash, 0.0))
            for f in findings
        ],
    )  # fmt: skip


def all_findings(db: apsw.Connection) -> list[Finding]:
    """Every finding, decided or not."""
    return [Finding(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM findings ORDER BY id")]


def outline(db: apsw.Connection) -> tuple[object, ...]:
    """A value that differs when a finding came, went or was decided on."""
    sql = "SELECT count(*), max(id), total(decided_at), total(decided != '') FROM findings"
    return tuple(db.execute(sql).fetchone() or ())


def of_tool(db: apsw.Connection, tool_id: int) -> list[Finding]:
    """One tool's findings, also those of texts that it had before."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM findings WHERE tool_id = ? ORDER BY id", (tool_id,))
    return [Finding(*row) for row in rows]


def blocked(db: apsw.Connection) -> frozenset[int]:
    """Tools whose present text has a finding of severity block that is not approved."""
    return frozenset(row[0] for row in db.execute("SELECT tool_id FROM blocked"))


def doubted(db: apsw.Connection) -> frozenset[int]:
    """Tools whose present text has a finding of any severity that is not decided."""
    sql = (
        "SELECT tool_id FROM findings JOIN tools ON tools.id = tool_id"
        " AND tools.hash = findings.hash WHERE decided = ''"
    )
    return frozenset(row[0] for row in db.execute(sql))


def decide(db: apsw.Connection, finding_id: int, decision: str, at: float) -> None:
    """Record a decision, or reopen the finding with ""."""
    db.execute(
        "UPDATE findings SET decided = ?, decided_at = ? WHERE id = ?", (decision, at, finding_id)
    )
