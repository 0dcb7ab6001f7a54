"""Caller of a request: the member behind its token."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg_pool import ConnectionPool

from app.team_server import refusal
from app.team_server.bearer import InvalidTokenError, Issuer, IssuerAwayError, issuer_named
from store.team import members, tokens
from store.team.connecting import Connection, as_owner
from store.team.records import Member

_LONGEST = 8_192  # characters of a token


@dataclass(frozen=True, slots=True)
class Caller:
    """The member that calls, and the token that it shows."""

    member: Member
    token_id: int = 0  # 0 for an issuer's token

    @property
    def key(self) -> str:
        """Name of the caller in session ids and limits."""
        return f"{self.member.organisation_id}:{self.member.member_id}:{self.token_id}"


class Identities:
    """Finds callers; nothing is remembered, so that a removed member is out at once."""

    def __init__(self, pool: ConnectionPool[Connection], issuers: Sequence[Issuer]) -> None:
        self._pool = pool
        self._issuers = {issuer.url: issuer for issuer in issuers}

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """The caller of a request. Raises RefusedError."""
        token = _bearer(headers.get("authorization"))
        try:
            if token.startswith(tokens.PREFIX):
                return self._static(token)
            return self._of_issuer(token)
        except (psycopg.Error, IssuerAwayError) as error:
            raise refusal.away() from error

    def _static(self, token: str) -> Caller:
        with as_owner(self._pool) as connection:
            holder = tokens.holder(connection, token)
            if holder is None:
                raise refusal.bad_token()
            tokens.note_use(connection, holder.token_id)
        return Caller(holder.member, holder.token_id)

    def _of_issuer(self, token: str) -> Caller:
        try:
            issuer = self._issuers.get(issuer_named(token))
            if issuer is None:
                raise refusal.bad_token()
            claims = issuer.verify(token)
        except InvalidTokenError as error:
            raise refusal.bad_token() from error
        if refusal.SCOPE not in claims.scopes and not issuer.any_scope:
            raise refusal.no_right()
        with as_owner(self._pool) as connection:
            known = members.of_subject(connection, claims.issuer, claims.subject)
        if len(known) != 1:  # in no organisation, or in several and the token does not say which
            raise refusal.no_right()
        return Caller(known[0][0])


def _bearer(header: str | None) -> str:
    """The token of an Authorization header. Raises RefusedError."""
    if header is None:
        raise refusal.no_token()
    scheme, _, token = header.partition(" ")
    token = token.strip(" ")
    if scheme.lower() != "bearer":
        raise refusal.no_token()
    if not token or len(token) > _LONGEST or not token.isascii() or " " in token:
        raise refusal.bad_token()
    return token


def same(given: str, wanted: str) -> bool:
    """True if two secrets are the same, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
