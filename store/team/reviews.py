"""Findings of the scanner, and the review's decisions on tools' texts."""

from collections.abc import Iterable, Sequence

from store.findings import APPROVED, KEPT
from store.team.connecting import Connection
from store.team.reading import all_of, changed, number_of
from store.team.records import Decision, Finding

DECISIONS = (APPROVED, KEPT)
_DECISION = "id, tool_id, hash, decision, reason, member_id, at"


def save_findings(
    connection: Connection, organisation_id: int, tool_id: int, rows: Iterable[Finding]
) -> None:
    """Replace a tool's findings."""
    base: dict[str, object] = {"organisation": organisation_id, "tool": tool_id}
    changed(
        connection,
        "DELETE FROM findings WHERE organisation_id = %(organisation)s AND tool_id = %(tool)s",
        base,
    )
    sql = (
        "INSERT INTO findings (organisation_id, scope_id, tool_id, rule, severity, detail, hash)"
        " SELECT organisation_id, scope_id, id, %(rule)s, %(severity)s, %(detail)s, %(hash)s"
        " FROM tools WHERE organisation_id = %(organisation)s AND id = %(tool)s"
        " ON CONFLICT (tool_id, rule, hash) DO NOTHING"
    )
    for one in rows:
        values = {
            "rule": one.rule,
            "severity": one.severity,
            "detail": one.detail,
            "hash": one.hash,
        }
        changed(connection, sql, base | values)


def findings(connection: Connection, organisation_id: int, ids: Sequence[int]) -> list[Finding]:
    """The findings of those of these tools that the caller sees."""
    sql = (
        "SELECT tool_id, rule, severity, detail, hash FROM findings"
        " WHERE organisation_id = %(organisation)s AND tool_id = ANY(%(ids)s) ORDER BY id"
    )
    return all_of(connection, Finding, sql, {"organisation": organisation_id, "ids": list(ids)})


def decide(
    connection: Connection,
    organisation_id: int,
    tool_id: int,
    decision: str,
    *,
    hash_: str,
    member_id: int,
    reason: str = "",
) -> int:
    """Approve or keep a tool's text; the decision's id.

    Raises LookupError if the caller sees no tool with this text: it may have changed meanwhile.
    """
    sql = (
        "INSERT INTO decisions (organisation_id, scope_id, tool_id, hash, decision, reason,"
        " member_id) SELECT organisation_id, scope_id, id, hash, %(decision)s, %(reason)s,"
        " %(member)s FROM tools WHERE organisation_id = %(organisation)s AND id = %(tool)s"
        " AND hash = %(hash)s ON CONFLICT (tool_id, hash) DO UPDATE SET"
        " decision = excluded.decision, reason = excluded.reason,"
        " member_id = excluded.member_id, at = now() RETURNING id"
    )
    values = {
        "organisation": organisation_id,
        "tool": tool_id,
        "decision": decision,
        "hash": hash_,
        "member": member_id,
        "reason": reason,
    }
    id_ = number_of(connection, sql, values)
    approved = (
        "UPDATE tools SET trusted_hash = CASE WHEN %(decision)s = 'approved' THEN hash ELSE"
        " trusted_hash END, held = %(decision)s = 'kept', updated = now()"
        " WHERE organisation_id = %(organisation)s AND id = %(tool)s"
    )
    changed(connection, approved, values)
    return id_


def decisions(connection: Connection, organisation_id: int, ids: Sequence[int]) -> list[Decision]:
    """Those of these decisions that the caller sees."""
    sql = (
        f"SELECT {_DECISION} FROM decisions WHERE organisation_id = %(organisation)s"
        " AND id = ANY(%(ids)s) ORDER BY id"
    )
    return all_of(connection, Decision, sql, {"organisation": organisation_id, "ids": list(ids)})
