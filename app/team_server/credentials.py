"""Launch of a server of the team with the credential that counts for the caller."""

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import asdict

import httpx2
from psycopg_pool import ConnectionPool

from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.secrets.secret_store import Secrets
from app.signin.grant import Grant
from app.signin.renewal import EndedError, refreshed
from app.system.quoting import quoted
from app.team_server.identity import Caller
from app.team_server.sealing import SealedError, Sealer
from app.team_server.upstreams import Target
from app.team_server.url_guard import GuardedSender, UrlGuard
from store.records import ServerSpec
from store.team import upstream_secrets
from store.team.connecting import Connection, as_member
from store.team.records import BY_MEMBER, BY_ORGANISATION, NO_SIGN_IN, Server
from store.typed import Json

_GRANT = "grant"  # of a sign-in, where other credentials are Secrets
_ENDED: Json = {"ended": True}  # of a sign-in that counts no more
_AGAIN = "Sign in again: toolcrib team sign-in {}, or View, Profile, Team… in Toolcrib."
_AUTHORIZATION = "Authorization"
_EARLY = 30.0  # seconds before its end that an access token is renewed
SIGNED_IN, ENDED_SIGN_IN, STORED, MISSING = "signed in", "ended", "stored", "missing"
STATES = {_GRANT: SIGNED_IN, next(iter(_ENDED)): ENDED_SIGN_IN}


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
        member = caller.member.member_id if server.sign_in == BY_MEMBER else 0
        spec = launch(server, self.secrets(caller, server))
        organisation = caller.member.organisation_id
        return Target(organisation, server.name, member, _digest(spec), spec)

    def secrets(self, caller: Caller, server: Server) -> Secrets:
        """The credential that counts for the caller. Raises ToolcribError where one is missing."""
        if server.sign_in == NO_SIGN_IN:
            return Secrets()
        is_own = server.sign_in == BY_MEMBER
        with as_member(self._pool, caller.member) as connection:
            kept = self._kept(connection, caller, server, shared=not is_own)
        if kept is None:
            who = "You have" if is_own else "The team has"
            raise ToolcribError(
                f"{who} no credential for {server.name}.",
                f"Sign in: toolcrib team sign-in {quoted(server.name)}, or View, Profile, Team… in"
                f" Toolcrib. Or store a token: toolcrib team credential {quoted(server.name)}"
                if is_own
                else "Ask an admin of the team.",
            )
        if kept == _ENDED:
            raise _ended(server)
        grant = _grant(kept)
        if grant is None:
            return Secrets.from_json(kept)
        if grant.has_ended(time.time() + _EARLY):
            grant = self._renewed(caller, server, grant.access_token)
        return _bearer(grant)

    def after_refusal(self, caller: Caller, server: Server, refused: Target) -> Target:
        """The server with another credential than it has just refused.

        A sign-in is renewed, once for all calls that were refused with it. Raises ToolcribError
        where only a person can help.
        """
        now = self.target(caller, server)
        if now != refused:  # renewed, or stored anew, meanwhile
            return now
        if self.states(caller, [server])[server.name] == SIGNED_IN:
            self._renewed(caller, server, _token_of(refused))
            return self.target(caller, server)
        raise _not_taken(server)

    def end(self, caller: Caller, server: Server, refused: Target) -> ToolcribError:
        """Remember that the caller's sign-in counts no more; the error that says what to do."""
        with as_member(self._pool, caller.member) as connection:
            grant = _grant(self._kept(connection, caller, server, alone=True))
            if grant is not None and grant.access_token == _token_of(refused):
                self._keep(connection, caller, server, _ENDED)
        return _ended(server) if grant else _not_taken(server)

    def states(self, caller: Caller, servers: Iterable[Server]) -> dict[str, str]:
        """State of the caller's own credential for each of these servers, by its name."""
        with as_member(self._pool, caller.member) as connection:
            return {one.name: self._state(connection, caller, one) for one in servers}

    def _state(self, connection: Connection, caller: Caller, server: Server) -> str:
        try:
            kept = self._kept(connection, caller, server)
        except SealedError:
            return MISSING
        return MISSING if kept is None else STATES.get(next(iter(kept), ""), STORED)

    def _kept(
        self,
        connection: Connection,
        caller: Caller,
        server: Server,
        *,
        shared: bool = False,
        alone: bool = False,
    ) -> Json | None:
        """Credential of the caller, or of the organisation; `alone` until the transaction ends."""
        whose = upstream_secrets.ORGANISATION if shared else caller.member.member_id
        organisation = caller.member.organisation_id
        row = upstream_secrets.load(connection, organisation, server.id, whose, alone=alone)
        if row is None:
            return None
        where = place(organisation, server.id, whose)
        kept: Json = json.loads(self._sealer.open(row.sealed, where))
        return kept

    def _renewed(self, caller: Caller, server: Server, known: str) -> Grant:
        """The member's sign-in with another token; one replica renews, the others wait for it.

        Raises ToolcribError where only the member can help.
        """
        with as_member(self._pool, caller.member) as connection:
            now = _grant(self._kept(connection, caller, server, alone=True))
            if now is None:
                raise _ended(server)
            if now.access_token != known:
                return now
            try:
                with httpx2.Client(transport=GuardedSender(self._guard), timeout=10.0) as client:
                    fresh = refreshed(now, time.time(), client)
            except EndedError:
                self._keep(connection, caller, server, _ENDED)
            except ToolcribError as error:
                raise ToolcribError(f"{server.name}: {error.title}", error.hint) from error
            else:
                self._keep(connection, caller, server, {_GRANT: asdict(fresh)})
                return fresh
        raise _ended(server)

    def keep_grant(self, caller: Caller, server: Server, grant: Grant) -> None:
        """Keep the caller's own sign-in."""
        with as_member(self._pool, caller.member) as connection:
            self._keep(connection, caller, server, {_GRANT: asdict(grant)})

    def forget(self, caller: Caller, server: Server) -> tuple[Grant | None, bool]:
        """Forget the caller's credential: the sign-in that it was, and True if there was one."""
        own = caller.member
        with as_member(self._pool, own) as connection:
            try:
                kept = self._kept(connection, caller, server, alone=True)
            except SealedError:
                kept = {}  # it goes all the same
            upstream_secrets.delete(connection, own.organisation_id, server.id, own.member_id)
        return _grant(kept), kept is not None

    def _keep(
        self,
        connection: Connection,
        caller: Caller,
        server: Server,
        value: Json,
    ) -> None:
        own = caller.member
        where = place(own.organisation_id, server.id, own.member_id)
        upstream_secrets.save(
            connection,
            own.organisation_id,
            server.id,
            self._sealer.seal(json.dumps(value), where),
            key_name=self._sealer.name,
            member_id=own.member_id,
        )

    def save(self, caller: Caller, server: Server, secrets: Secrets) -> None:
        """Keep the caller's own credential; the organisation's is kept by the operator's verb."""
        with as_member(self._pool, caller.member) as connection:
            self._keep(connection, caller, server, secrets.to_json())


def _grant(kept: Json | None) -> Grant | None:
    return Grant(**kept[_GRANT]) if kept and _GRANT in kept else None


def _bearer(grant: Grant) -> Secrets:
    return Secrets(headers={_AUTHORIZATION: f"Bearer {grant.access_token}"})


def _token_of(target: Target) -> str:
    """The access token that a sign-in gave for a server."""
    return target.spec.headers.get(_AUTHORIZATION, "").removeprefix("Bearer ")


def _ended(server: Server) -> ToolcribError:
    return ToolcribError(
        f"Your sign-in to {server.name} has ended.", _AGAIN.format(quoted(server.name))
    )


def _not_taken(server: Server) -> ToolcribError:
    if server.sign_in == BY_MEMBER:
        hint = f"Store another: toolcrib team credential {quoted(server.name)}"
        return ToolcribError(f"{server.name} does not take your credential any more.", hint)
    whose = "the team's credential" if server.sign_in == BY_ORGANISATION else "calls without one"
    return ToolcribError(f"{server.name} does not take {whose}.", "Ask an admin of the team.")


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
