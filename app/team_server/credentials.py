"""Launch of a server of the team with the credential that counts for the caller."""

import hashlib
import json
import time
from dataclasses import asdict

import httpx2
from psycopg_pool import ConnectionPool

from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.secrets.secret_store import Secrets
from app.signin.grant import Grant
from app.signin.renewal import ENDED, EndedError, refreshed
from app.team_server.identity import Caller
from app.team_server.sealing import SealedError, Sealer
from app.team_server.upstreams import Target
from app.team_server.url_guard import GuardedSender, UrlGuard
from store.records import ServerSpec
from store.team import upstream_secrets
from store.team.connecting import Connection, as_member
from store.team.records import Server
from store.typed import Json

_GRANT = "grant"  # of a sign-in, where other credentials are Secrets
_EARLY = 30.0  # seconds before its end that an access token is renewed
MEMBER, ORGANISATION, NONE = "member", "organisation", "none"


def place(organisation: int, server: int, member: int) -> str:
    """Place that a credential is sealed for."""
    return f"{organisation}/{server}/{member}"


def seal(sealer: Sealer, secrets: Secrets, organisation: int, server: int, member: int) -> bytes:
    """A credential as the database keeps it."""
    return sealer.seal(json.dumps(secrets.to_json()), place(organisation, server, member))


def open_sealed(sealer: Sealer, sealed: bytes, organisation: int, server: int) -> Secrets:
    """The organisation's credential that the database keeps. Raises SealedError."""
    return Secrets.from_json(json.loads(sealer.open(sealed, place(organisation, server, 0))))


class Credentials:
    """Opens the credentials of servers for calls; keeps none."""

    def __init__(self, pool: ConnectionPool[Connection], sealer: Sealer, guard: UrlGuard) -> None:
        self._pool = pool
        self._guard = guard
        self._sealer = sealer

    def target(self, caller: Caller, server: Server) -> Target:
        """The server with the caller's credential. Raises ToolcribError where one is missing."""
        member = caller.member.member_id if server.sign_in == MEMBER else 0
        spec = launch(server, self.secrets(caller, server))
        organisation = caller.member.organisation_id
        return Target(organisation, server.name, member, _digest(spec), spec)

    def secrets(self, caller: Caller, server: Server) -> Secrets:
        """The credential that counts for the caller. Raises ToolcribError where one is missing."""
        if server.sign_in == NONE:
            return Secrets()
        member = caller.member.member_id if server.sign_in == MEMBER else 0
        organisation = caller.member.organisation_id
        with as_member(self._pool, caller.member) as connection:
            row = upstream_secrets.load(connection, organisation, server.id, member)
        if row is None:
            who = "You have" if member else "The team has"
            raise ToolcribError(
                f"{who} no credential for {server.name}.",
                f"Sign in: toolcrib team sign-in {server.name}, or store a token:"
                f" toolcrib team credential {server.name}"
                if member
                else "Ask an admin of the team.",
            )
        kept = self._opened(row.sealed, server, caller, member)
        if _GRANT not in kept:
            return Secrets.from_json(kept)
        grant = Grant(**kept[_GRANT])
        if grant.has_ended(time.time() + _EARLY):
            grant = self._renewed(caller, server, grant)
        return Secrets(headers={"Authorization": f"Bearer {grant.access_token}"})

    def _opened(self, sealed: bytes, server: Server, caller: Caller, member: int) -> Json:
        where = place(caller.member.organisation_id, server.id, member)
        kept: Json = json.loads(self._sealer.open(sealed, where))
        return kept

    def _renewed(self, caller: Caller, server: Server, known: Grant) -> Grant:
        """The member's sign-in with new tokens; one replica renews, the others wait for it.

        Raises ToolcribError where only the member can help.
        """
        own = caller.member
        with as_member(self._pool, own) as connection:
            row = upstream_secrets.load(
                connection, own.organisation_id, server.id, own.member_id, alone=True
            )
            kept = self._opened(row.sealed, server, caller, own.member_id) if row else {}
            now = Grant(**kept[_GRANT]) if _GRANT in kept else None
            if now is not None and now.access_token != known.access_token:
                return now
            try:
                if now is None:
                    raise EndedError(ENDED)
                with httpx2.Client(transport=GuardedSender(self._guard), timeout=10.0) as client:
                    fresh = refreshed(now, time.time(), client)
            except EndedError:
                upstream_secrets.delete(connection, own.organisation_id, server.id, own.member_id)
            else:
                self._keep(connection, caller, server, {_GRANT: asdict(fresh)})
                return fresh
        raise ToolcribError(
            f"Your sign-in to {server.name} has ended.",
            f"Sign in again: toolcrib team sign-in {server.name}",
        )

    def keep_grant(self, caller: Caller, server: Server, grant: Grant) -> None:
        """Keep the caller's own sign-in."""
        with as_member(self._pool, caller.member) as connection:
            self._keep(connection, caller, server, {_GRANT: asdict(grant)})

    def forget(self, caller: Caller, server: Server) -> tuple[Grant | None, bool]:
        """Forget the caller's credential: the sign-in that it was, and True if there was one."""
        own = caller.member
        with as_member(self._pool, own) as connection:
            row = upstream_secrets.load(
                connection, own.organisation_id, server.id, own.member_id, alone=True
            )
            upstream_secrets.delete(connection, own.organisation_id, server.id, own.member_id)
        try:
            kept = self._opened(row.sealed, server, caller, own.member_id) if row else {}
        except SealedError:
            kept = {}  # it is gone all the same
        return (Grant(**kept[_GRANT]) if _GRANT in kept else None), row is not None

    def _keep(
        self, connection: Connection, caller: Caller, server: Server, value: Json, member: int = -1
    ) -> None:
        own = caller.member
        whose = own.member_id if member < 0 else member
        where = place(own.organisation_id, server.id, whose)
        upstream_secrets.save(
            connection,
            own.organisation_id,
            server.id,
            self._sealer.seal(json.dumps(value), where),
            key_name=self._sealer.name,
            member_id=whose,
        )

    def save(self, caller: Caller, server: Server, secrets: Secrets, *, shared: bool) -> None:
        """Keep a credential: the caller's own, or (shared, by an admin) the organisation's."""
        member = 0 if shared else caller.member.member_id
        with as_member(self._pool, caller.member) as connection:
            self._keep(connection, caller, server, secrets.to_json(), member)


def launch(server: Server, secrets: Secrets) -> LaunchSpec:
    """Launch or address of a server of the team."""
    fields = server.spec
    header_names = {*map(str, fields.get("header_names", ())), *secrets.headers}
    spec = ServerSpec(
        transport=server.transport,
        key="",
        command=str(fields.get("command", "")),
        args=tuple(map(str, fields.get("args", ()))),
        env_names=tuple(map(str, fields.get("env_names", ()))),
        url=server.url,
        header_names=tuple(sorted(header_names)),
    )
    return LaunchSpec.from_spec(spec, secrets)


def _digest(spec: LaunchSpec) -> str:
    parts = [spec.transport, spec.command, spec.args, spec.url, sorted(spec.headers.items())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
