"""Labelled queries that members sent; the label of one counts for all of the organisation."""

from collections.abc import Sequence

from store.team.connecting import Connection
from store.team.reading import all_of, changed
from store.team.records import Label, Member

_COLUMNS = "id, member_id, query, expected, source, at"


def add(
    connection: Connection,
    member: Member,
    query: str,
    expected: Sequence[str],
    *,
    words: str,
    source: str = "typed",
) -> bool:
    """Keep a member's label; False where the organisation has it, also by another member.

    `words` is the key of like queries.
    """
    sql = (
        "INSERT INTO labels (organisation_id, member_id, query, words, expected, source) VALUES"
        " (%(organisation)s, %(member)s, %(query)s, %(words)s, %(expected)s, %(source)s)"
        " ON CONFLICT (organisation_id, query, expected) DO NOTHING"
    )
    values = {
        "organisation": member.organisation_id,
        "member": member.member_id,
        "query": query,
        "words": words,
        "expected": sorted(set(expected)),
        "source": source,
    }
    return changed(connection, sql, values) > 0


def every(connection: Connection, organisation_id: int) -> list[Label]:
    """All labels of the organisation, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM labels WHERE organisation_id = %(organisation)s ORDER BY id"
    return all_of(connection, Label, sql, {"organisation": organisation_id})


def expected(connection: Connection, organisation_id: int, words: str) -> frozenset[str]:
    """The `server/tool` that labels expect for queries with this key."""
    sql = (
        "SELECT DISTINCT unnest(expected) FROM labels"
        " WHERE organisation_id = %(organisation)s AND words = %(words)s"
    )
    values = {"organisation": organisation_id, "words": words}
    return frozenset(all_of(connection, str, sql, values)) if words else frozenset()


def delete(connection: Connection, organisation_id: int, label_id: int) -> bool:
    """Delete a label; False if there is none that the caller may delete."""
    sql = "DELETE FROM labels WHERE organisation_id = %(organisation)s AND id = %(id)s"
    return changed(connection, sql, {"organisation": organisation_id, "id": label_id}) > 0
