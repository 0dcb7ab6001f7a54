"""A server of the team read by the operator: its tools come into the catalogue, judged."""

import asyncio

from app.core.errors import ToolcribError
from app.ranking.dense import Encoding
from app.secrets.secret_store import Secrets
from app.team_server.configuration import Configuration
from app.team_server.credentials import launch
from app.team_server.indexing import indexed
from app.team_server.upstreams import Target, Upstreams, listed
from app.team_server.url_guard import UrlGuard
from store.team import reviews, servers, tools
from store.team.connecting import Connection, as_operator
from store.team.records import NewServer, Server
from store.typed import Json, object_or_empty


def read_server(
    given: Configuration,
    organisation: int,
    name: str,
    secrets: Secrets | None = None,
    *,
    encoder: Encoding | None = None,
) -> int:
    """Read a server's list into the catalogue; the number of tools. Raises ToolcribError.

    Without an `encoder` its tools are found by words alone.
    """
    with as_operator(given.database) as connection:
        server = servers.named(connection, organisation, name)
    if server is None:
        raise ToolcribError(f"There is no server {name}.", "Add it first.")
    rows, hello = _listed(given, organisation, server, secrets or Secrets())
    with as_operator(given.database) as connection:
        servers.save(connection, organisation, _greeted(server, hello))
        reviewed = _reviewed(connection, organisation, server)
        judged = indexed(name, rows, encoder, reviewed=reviewed)
        ids = tools.save(connection, organisation, server.id, [tool for tool, _ in judged])
        for id_, (_, findings) in zip(ids, judged, strict=True):
            reviews.save_findings(connection, organisation, id_, findings)
    return len(rows)


def _reviewed(connection: Connection, organisation: int, server: Server) -> dict[str, str]:
    """Trusted hashes by name of the tools that the team has of a server."""
    rows = tools.every(connection, organisation, server=server.id)
    return {row.name: row.trusted_hash for row in rows}


def _listed(
    given: Configuration, organisation: int, server: Server, secrets: Secrets
) -> tuple[list[Json], Json]:
    held = Upstreams(UrlGuard(given.inside), given.programs)
    try:
        one = held.get(Target(organisation, server.name, 0, "", launch(server, secrets)))
        rows = list(asyncio.run(listed(one)).values())
        return rows, one.upstream.hello_result
    finally:
        held.close()


def _greeted(server: Server, hello: Json) -> NewServer:
    info = hello.get("serverInfo")
    return NewServer(
        name=server.name,
        transport=server.transport,
        spec=server.spec,
        url=server.url,
        sign_in=server.sign_in,
        server_info=object_or_empty(info),
        instructions=str(hello.get("instructions") or ""),
        grants=server.grants,
    )
