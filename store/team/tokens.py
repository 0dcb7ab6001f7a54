"""Static tokens: only their hashes are stored; the value is shown once."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime

from store.team.connecting import Connection
from store.team.reading import all_of, changed, first_of, number_of
from store.team.records import Holder, Member, TokenRow

PREFIX = "tct_"  # so that scanners of repositories know one
_BYTES = 32
_COLUMNS = "id, member_id, name, allow, created, expires, used, revoked"


def issue(
    connection: Connection,
    member: Member,
    name: str,
    *,
    allow: Sequence[str] | None = None,
    expires: datetime | None = None,
) -> tuple[int, str]:
    """A new token's id and its value, which is not kept.

    `allow` are `server/tool` patterns with *, for an agent that may use these alone.
    """
    value = PREFIX + secrets.token_urlsafe(_BYTES)
    sql = (
        "INSERT INTO tokens (organisation_id, member_id, name, hash, allow, expires) VALUES"
        " (%(organisation)s, %(member)s, %(name)s, %(hash)s, %(allow)s, %(expires)s) RETURNING id"
    )
    values = {
        "organisation": member.organisation_id,
        "member": member.member_id,
        "name": name,
        "hash": digest(value),
        "allow": None if allow is None else list(allow),
        "expires": expires,
    }
    return number_of(connection, sql, values), value


def holder(connection: Connection, value: str) -> Holder | None:
    """The member behind a token that counts: not revoked, expired, or of a removed member.

    For sign-in, as the operator (as_owner).
    """
    sql = (
        "SELECT token_id, organisation_id, member_id, role, name, groups, allow"
        " FROM toolcrib.holder(%(hash)s)"
    )
    return first_of(connection, _holder, sql, {"hash": digest(value)})


def of_member(connection: Connection, member_id: int) -> list[TokenRow]:
    """A member's tokens, the newest first."""
    sql = f"SELECT {_COLUMNS} FROM tokens WHERE member_id = %(member)s ORDER BY id DESC"
    return all_of(connection, TokenRow, sql, {"member": member_id})


def revoke(connection: Connection, token_id: int) -> bool:
    """End a token; False if there is no such token, or it had ended."""
    sql = "UPDATE tokens SET revoked = now() WHERE id = %(id)s AND revoked IS NULL"
    return changed(connection, sql, {"id": token_id}) > 0


def note_use(connection: Connection, token_id: int) -> None:
    """Remember the day on which a token was used last."""
    sql = (
        "UPDATE tokens SET used = date_trunc('day', now()) WHERE id = %(id)s"
        " AND used IS DISTINCT FROM date_trunc('day', now())"
    )
    changed(connection, sql, {"id": token_id})


def digest(value: str) -> bytes:
    """Hash by which a token is looked up: 256 random bits need no slow one."""
    return hashlib.sha256(value.encode()).digest()


def _holder(
    token_id: int,
    organisation_id: int,
    member_id: int,
    role: str,
    name: str,
    groups: tuple[str, ...],
    allow: tuple[str, ...] | None,
) -> Holder:
    return Holder(token_id, Member(organisation_id, member_id, role, name, groups, allow))
