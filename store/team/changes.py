"""Changed rows in an order without gaps behind a reader: what incremental synchronisation reads.

A row that changes again moves to the end, so a reader gets each row once. Writers of one
organisation take turns at its cursor, so numbers are seen in their order.
"""

from store.team.connecting import Connection
from store.team.reading import all_of
from store.team.records import Change


def since(
    connection: Connection, organisation_id: int, cursor: int, *, most: int = 1_000
) -> list[Change]:
    """Changes after a cursor (0: all rows there are), oldest first; go on from the last one's.

    A row that `some()` of its module does not return is gone for this caller, as is one that says
    so.
    """
    sql = (
        "SELECT cursor, kind, row_id, gone FROM changes"
        " WHERE organisation_id = %(organisation)s AND cursor > %(cursor)s"
        " ORDER BY cursor LIMIT %(most)s"
    )
    values = {"organisation": organisation_id, "cursor": cursor, "most": most}
    return all_of(connection, Change, sql, values)


def last(connection: Connection, organisation_id: int) -> int:
    """The cursor after the last change, 0 before the first."""
    sql = "SELECT last FROM cursors WHERE organisation_id = %(organisation)s"
    rows = all_of(connection, int, sql, {"organisation": organisation_id})
    return rows[0] if rows else 0
