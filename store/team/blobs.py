"""Results of an organisation's scans: floor, what its requests taught, the world's vectors."""

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of


def save(
    connection: Connection, organisation_id: int, name: str, *, fingerprint: str, data: bytes
) -> None:
    """Store a result, replacing one of the same name."""
    sql = (
        "INSERT INTO blobs (organisation_id, name, fingerprint, data) VALUES"
        " (%(organisation)s, %(name)s, %(fingerprint)s, %(data)s)"
        " ON CONFLICT (organisation_id, name) DO UPDATE SET fingerprint = excluded.fingerprint,"
        " data = excluded.data, at = now()"
    )
    values = {
        "organisation": organisation_id,
        "name": name,
        "fingerprint": fingerprint,
        "data": data,
    }
    changed(connection, sql, values)


def load(connection: Connection, organisation_id: int, name: str) -> tuple[str, bytes] | None:
    """A stored result with the fingerprint of what it was made from, or None."""
    sql = (
        "SELECT fingerprint, data FROM blobs WHERE organisation_id = %(organisation)s"
        " AND name = %(name)s"
    )
    values = {"organisation": organisation_id, "name": name}
    return first_of(connection, lambda print_, data: (print_, data), sql, values)


def fingerprints(connection: Connection, organisation_id: int) -> dict[str, str]:
    """The fingerprint of each stored result, by name."""
    sql = "SELECT name, fingerprint FROM blobs WHERE organisation_id = %(organisation)s"
    rows = all_of(connection, lambda *row: row, sql, {"organisation": organisation_id})
    return dict(rows)
