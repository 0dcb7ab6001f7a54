"""Members of an organisation, their roles (member, editor, admin) and groups."""

from collections.abc import Sequence

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of, number_of
from store.team.records import MEMBER, Member, MemberRow

_COLUMNS = "id, name, role, groups, issuer, subject, created, removed"


def add(
    connection: Connection,
    organisation_id: int,
    name: str,
    role: str = MEMBER,
    *,
    groups: Sequence[str] = (),
    issuer: str = "",
    subject: str = "",
) -> Member:
    """Add a member; raises psycopg.errors.UniqueViolation for a name or a subject in use."""
    sql = (
        "INSERT INTO members (organisation_id, name, role, groups, issuer, subject) VALUES"
        " (%(organisation)s, %(name)s, %(role)s, %(groups)s, %(issuer)s, %(subject)s) RETURNING id"
    )
    values = {
        "organisation": organisation_id,
        "name": name,
        "role": role,
        "groups": list(groups),
        "issuer": issuer,
        "subject": subject,
    }
    return Member(organisation_id, number_of(connection, sql, values), role, name, tuple(groups))


def every(connection: Connection, organisation_id: int) -> list[MemberRow]:
    """All members, those that were removed too, by name."""
    sql = (
        f"SELECT {_COLUMNS} FROM members WHERE organisation_id = %(organisation)s ORDER BY name, id"
    )
    return all_of(connection, MemberRow, sql, {"organisation": organisation_id})


def named(connection: Connection, organisation_id: int, name: str) -> Member | None:
    """The present member of this name."""
    sql = (
        "SELECT organisation_id, id, role, name, groups FROM members"
        " WHERE organisation_id = %(organisation)s AND name = %(name)s AND removed IS NULL"
    )
    return first_of(connection, Member, sql, {"organisation": organisation_id, "name": name})


def seeing(
    connection: Connection, organisation_id: int, grants: Sequence[str]
) -> list[tuple[str, str]]:
    """Names and roles of the present members whom these grants let see a row, by name."""
    sql = (
        "SELECT name, role FROM members m WHERE organisation_id = %(organisation)s"
        " AND removed IS NULL AND (role IN ('editor', 'admin') OR %(grants)s::text[] &&"
        " (ARRAY['organisation', 'role:' || role, 'member:' || id]"
        " || ARRAY(SELECT 'group:' || g FROM unnest(m.groups) g))) ORDER BY name, id"
    )
    values = {"organisation": organisation_id, "grants": list(grants)}
    return all_of(connection, lambda name, role: (name, role), sql, values)


def set_role(connection: Connection, organisation_id: int, member_id: int, role: str) -> bool:
    """Change a member's role; False if there is no such member."""
    sql = (
        "UPDATE members SET role = %(role)s WHERE organisation_id = %(organisation)s"
        " AND id = %(id)s AND removed IS NULL"
    )
    values = {"organisation": organisation_id, "id": member_id, "role": role}
    return changed(connection, sql, values) > 0


def set_groups(
    connection: Connection, organisation_id: int, member_id: int, groups: Sequence[str]
) -> bool:
    """Change a member's groups; False if there is no such member."""
    sql = (
        "UPDATE members SET groups = %(groups)s WHERE organisation_id = %(organisation)s"
        " AND id = %(id)s AND removed IS NULL"
    )
    values = {"organisation": organisation_id, "id": member_id, "groups": list(groups)}
    return changed(connection, sql, values) > 0


def remove(connection: Connection, organisation_id: int, member_id: int) -> bool:
    """End a member's access with the next transaction; False if there is no such member."""
    sql = (
        "UPDATE members SET removed = now() WHERE organisation_id = %(organisation)s"
        " AND id = %(id)s AND removed IS NULL"
    )
    return changed(connection, sql, {"organisation": organisation_id, "id": member_id}) > 0


def of_subject(connection: Connection, issuer: str, subject: str) -> list[tuple[Member, str]]:
    """The members that an issuer calls by this subject, with their organisation's name.

    For sign-in, as the operator (as_owner).
    """
    sql = (
        "SELECT organisation_id, member_id, role, name, groups, organisation"
        " FROM toolcrib.holders(%(issuer)s, %(subject)s)"
    )
    return all_of(connection, _with_organisation, sql, {"issuer": issuer, "subject": subject})


def _with_organisation(
    organisation_id: int, id_: int, role: str, name: str, groups: tuple[str, ...], organisation: str
) -> tuple[Member, str]:
    return Member(organisation_id, id_, role, name, groups), organisation
