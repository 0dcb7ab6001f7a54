"""Policies of the team, in the text of a repository's policy file."""

import hashlib

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of, number_of
from store.team.records import Policy

_COLUMNS = "id, name, text, hash, updated"


def save(connection: Connection, organisation_id: int, name: str, text: str) -> int:
    """Save a policy by its name; its id. The text was checked by the caller."""
    sql = (
        "INSERT INTO policies (organisation_id, name, text, hash) VALUES"
        " (%(organisation)s, %(name)s, %(text)s, %(hash)s)"
        " ON CONFLICT (organisation_id, name) DO UPDATE SET text = excluded.text,"
        " hash = excluded.hash, updated = now() RETURNING id"
    )
    values = {
        "organisation": organisation_id,
        "name": name,
        "text": text,
        "hash": hashlib.sha256(text.encode()).hexdigest(),
    }
    return number_of(connection, sql, values)


def every(connection: Connection, organisation_id: int) -> list[Policy]:
    """All policies, by name."""
    sql = f"SELECT {_COLUMNS} FROM policies WHERE organisation_id = %(organisation)s ORDER BY name"
    return all_of(connection, Policy, sql, {"organisation": organisation_id})


def named(connection: Connection, organisation_id: int, name: str) -> Policy | None:
    """The policy of this name."""
    sql = (
        f"SELECT {_COLUMNS} FROM policies WHERE organisation_id = %(organisation)s"
        " AND name = %(name)s"
    )
    return first_of(connection, Policy, sql, {"organisation": organisation_id, "name": name})


def delete(connection: Connection, organisation_id: int, policy_id: int) -> bool:
    """Delete a policy; False if there is none that the caller may delete."""
    sql = "DELETE FROM policies WHERE organisation_id = %(organisation)s AND id = %(id)s"
    return changed(connection, sql, {"organisation": organisation_id, "id": policy_id}) > 0
