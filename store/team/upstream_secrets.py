"""Credentials of upstreams, encrypted by the gateway before they come here."""

from datetime import datetime

from store.team.connecting import Connection
from store.team.reading import changed, first_of
from store.team.records import SealedSecret

ORGANISATION = 0  # the member of a credential that all use


def save(
    connection: Connection,
    organisation_id: int,
    server_id: int,
    sealed: bytes,
    *,
    key_name: str,
    member_id: int = ORGANISATION,
    expires: datetime | None = None,
) -> None:
    """Keep a member's credential for a server, or the organisation's (by an admin)."""
    sql = (
        "INSERT INTO upstream_secrets (organisation_id, server_id, member_id, sealed, key_name,"
        " expires) VALUES (%(organisation)s, %(server)s, %(member)s, %(sealed)s, %(key)s,"
        " %(expires)s) ON CONFLICT (organisation_id, server_id, member_id) DO UPDATE SET"
        " sealed = excluded.sealed, key_name = excluded.key_name, expires = excluded.expires,"
        " updated = now()"
    )
    values = {
        "organisation": organisation_id,
        "server": server_id,
        "member": member_id,
        "sealed": sealed,
        "key": key_name,
        "expires": expires,
    }
    changed(connection, sql, values)


def load(
    connection: Connection,
    organisation_id: int,
    server_id: int,
    member_id: int = ORGANISATION,
    *,
    alone: bool = False,
) -> SealedSecret | None:
    """A member's credential for a server, or the organisation's; `alone` until the transaction's
    end."""
    sql = (
        "SELECT server_id, member_id, sealed, key_name, expires FROM upstream_secrets"
        " WHERE organisation_id = %(organisation)s AND server_id = %(server)s"
        " AND member_id = %(member)s"
    ) + (" FOR UPDATE" if alone else "")
    values = {"organisation": organisation_id, "server": server_id, "member": member_id}
    return first_of(connection, SealedSecret, sql, values)


def delete(
    connection: Connection, organisation_id: int, server_id: int, member_id: int = ORGANISATION
) -> bool:
    """Forget a credential; False if there is none."""
    sql = (
        "DELETE FROM upstream_secrets WHERE organisation_id = %(organisation)s"
        " AND server_id = %(server)s AND member_id = %(member)s"
    )
    values = {"organisation": organisation_id, "server": server_id, "member": member_id}
    return changed(connection, sql, values) > 0
