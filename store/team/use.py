"""Counts of use by day: no query, no argument, no answer."""

from collections.abc import Iterable
from datetime import date

from store.team.connecting import Connection
from store.team.reading import all_of, changed
from store.team.records import Member, UseRow


def count(
    connection: Connection, member: Member, counts: Iterable[tuple[date, str, str, int]]
) -> None:
    """Add a member's counts: day, kind (search, call, error, miss), server/tool, number."""
    sql = (
        "INSERT INTO use (organisation_id, day, member_id, kind, tool_id, count) VALUES"
        " (%(organisation)s, %(day)s, %(member)s, %(kind)s, %(tool)s, %(count)s)"
        " ON CONFLICT (organisation_id, day, member_id, kind, tool_id)"
        " DO UPDATE SET count = use.count + excluded.count"
    )
    for day, kind, tool, number in sorted(counts):  # in one order, so that no two wait in a circle
        values = {
            "organisation": member.organisation_id,
            "day": day,
            "member": member.member_id,
            "kind": kind,
            "tool": tool,
            "count": number,
        }
        changed(connection, sql, values)


def since(connection: Connection, organisation_id: int, day: date) -> list[UseRow]:
    """Counts from a day on that the caller sees: one's own, for an admin all."""
    sql = (
        "SELECT day, member_id, kind, tool_id, count FROM use"
        " WHERE organisation_id = %(organisation)s AND day >= %(day)s"
        " ORDER BY day, member_id, kind, tool_id"
    )
    return all_of(connection, UseRow, sql, {"organisation": organisation_id, "day": day})
