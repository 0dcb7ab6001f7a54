"""Launch of a server of the team with the credential that counts for the caller."""

import hashlib
import json

from psycopg_pool import ConnectionPool

from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.secrets.secret_store import Secrets
from app.team_server.identity import Caller
from app.team_server.sealing import Sealer
from app.team_server.upstreams import Target
from store.records import ServerSpec
from store.team import upstream_secrets
from store.team.connecting import Connection, as_member
from store.team.records import Server

MEMBER, ORGANISATION, NONE = "member", "organisation", "none"


def place(organisation: int, server: int, member: int) -> str:
    """Place that a credential is sealed for."""
    return f"{organisation}/{server}/{member}"


def seal(sealer: Sealer, secrets: Secrets, organisation: int, server: int, member: int) -> bytes:
    """A credential as the database keeps it."""
    return sealer.seal(json.dumps(secrets.to_json()), place(organisation, server, member))


class Credentials:
    """Opens the credentials of servers for calls; keeps none."""

    def __init__(self, pool: ConnectionPool[Connection], sealer: Sealer) -> None:
        self._pool = pool
        self._sealer = sealer

    def target(self, caller: Caller, server: Server) -> Target:
        """The server with the caller's credential. Raises ToolcribError where one is missing."""
        member = caller.member.member_id if server.sign_in == MEMBER else 0
        secrets = Secrets()
        if server.sign_in != NONE:
            secrets = self._secrets(caller, server, member)
        spec = launch(server, secrets)
        organisation = caller.member.organisation_id
        return Target(organisation, server.name, member, _digest(spec), spec)

    def _secrets(self, caller: Caller, server: Server, member: int) -> Secrets:
        organisation = caller.member.organisation_id
        with as_member(self._pool, caller.member) as connection:
            row = upstream_secrets.load(connection, organisation, server.id, member)
        if row is None:
            who = "You have" if member else "The team has"
            raise ToolcribError(
                f"{who} no credential for {server.name}.",
                f"Store one: toolcrib team credential {server.name}"
                if member
                else "Ask an admin of the team.",
            )
        text = self._sealer.open(row.sealed, place(organisation, server.id, member))
        return Secrets.from_json(json.loads(text))

    def save(self, caller: Caller, server: Server, secrets: Secrets, *, shared: bool) -> None:
        """Keep a credential: the caller's own, or (shared, by an admin) the organisation's."""
        organisation = caller.member.organisation_id
        member = 0 if shared else caller.member.member_id
        sealed = seal(self._sealer, secrets, organisation, server.id, member)
        with as_member(self._pool, caller.member) as connection:
            upstream_secrets.save(
                connection,
                organisation,
                server.id,
                sealed,
                key_name=self._sealer.name,
                member_id=member,
            )


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
