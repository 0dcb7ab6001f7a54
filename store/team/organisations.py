"""Organisations: made and removed by the operator alone."""

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of, number_of
from store.team.records import Organisation


def create(connection: Connection, name: str) -> Organisation:
    """Make an organisation; raises psycopg.errors.UniqueViolation for a name in use."""
    sql = "INSERT INTO organisations (name) VALUES (%(name)s) RETURNING id"
    return Organisation(number_of(connection, sql, {"name": name}), name)


def find(connection: Connection, name: str) -> Organisation | None:
    """The organisation of this name that the caller may see."""
    sql = "SELECT id, name FROM organisations WHERE name = %(name)s AND removed IS NULL"
    return first_of(connection, Organisation, sql, {"name": name})


def get(connection: Connection, id_: int) -> Organisation | None:
    """The organisation of this id that the caller may see."""
    sql = "SELECT id, name FROM organisations WHERE id = %(id)s AND removed IS NULL"
    return first_of(connection, Organisation, sql, {"id": id_})


def every(connection: Connection) -> list[Organisation]:
    """All organisations that the caller may see, by name."""
    sql = "SELECT id, name FROM organisations WHERE removed IS NULL ORDER BY name"
    return all_of(connection, Organisation, sql)


def remove(connection: Connection, id_: int) -> bool:
    """End all access of an organisation; its rows stay."""
    sql = "UPDATE organisations SET removed = now() WHERE id = %(id)s AND removed IS NULL"
    return changed(connection, sql, {"id": id_}) > 0
