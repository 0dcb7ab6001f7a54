"""The append-only log. Triggers write it: no function of ours, and none that is forgotten."""

from store.team.connecting import Connection
from store.team.reading import all_of
from store.team.records import AuditRow


def since(
    connection: Connection, organisation_id: int, *, after: int = 0, most: int = 500
) -> list[AuditRow]:
    """Entries after an id, oldest first; members who are no admins see none."""
    sql = (
        "SELECT id, at, member_id, action, kind, subject, before, after FROM audit"
        " WHERE organisation_id = %(organisation)s AND id > %(after)s ORDER BY id LIMIT %(most)s"
    )
    values = {"organisation": organisation_id, "after": after, "most": most}
    return all_of(connection, AuditRow, sql, values)
