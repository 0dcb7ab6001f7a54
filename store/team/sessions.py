"""Sessions of revision 2025-11-25 as rows, so that any replica can go on with one."""

from datetime import datetime

from psycopg.types.json import Json as AsJson

from store.team.connecting import Connection
from store.team.reading import changed, first_of
from store.team.records import Member, Session
from store.typed import Json


def save(
    connection: Connection, member: Member, session_id: str, data: Json, expires: datetime
) -> None:
    """Keep a session of the member."""
    sql = (
        "INSERT INTO sessions (id, organisation_id, member_id, data, expires) VALUES"
        " (%(id)s, %(organisation)s, %(member)s, %(data)s, %(expires)s)"
        " ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires = excluded.expires"
        " WHERE sessions.member_id = excluded.member_id"
    )
    values = {
        "id": session_id,
        "organisation": member.organisation_id,
        "member": member.member_id,
        "data": AsJson(data),
        "expires": expires,
    }
    changed(connection, sql, values)


def load(connection: Connection, member: Member, session_id: str) -> Session | None:
    """The member's own session of this id, None once it has expired."""
    sql = (
        "SELECT id, data, expires FROM sessions WHERE id = %(id)s AND member_id = %(member)s"
        " AND organisation_id = %(organisation)s AND expires > now()"
    )
    values = {
        "id": session_id,
        "member": member.member_id,
        "organisation": member.organisation_id,
    }
    return first_of(connection, Session, sql, values)


def delete(connection: Connection, member: Member, session_id: str) -> bool:
    """End a session; False if the member has none of this id."""
    sql = (
        "DELETE FROM sessions WHERE id = %(id)s AND member_id = %(member)s"
        " AND organisation_id = %(organisation)s"
    )
    values = {
        "id": session_id,
        "member": member.member_id,
        "organisation": member.organisation_id,
    }
    return changed(connection, sql, values) > 0


def delete_expired(connection: Connection) -> int:
    """Delete what has expired (as the operator); the number of rows."""
    return changed(connection, "DELETE FROM sessions WHERE expires <= now()")
