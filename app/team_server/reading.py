"""A server of the team read by the operator: its tools come into the catalogue, judged."""

import asyncio

from app.core.errors import ToolcribError
from app.secrets.secret_store import Secrets
from app.team_server.configuration import Configuration
from app.team_server.credentials import launch
from app.team_server.upstreams import Target, Upstreams, listed
from app.team_server.url_guard import UrlGuard
from store.hashes import tool_hash
from store.team import servers, tools
from store.team.connecting import PATH, connect
from store.team.records import NewServer, NewTool, Server
from store.typed import Json


def read_server(
    given: Configuration, organisation: int, name: str, secrets: Secrets | None = None
) -> int:
    """Read a server's list into the catalogue; the number of tools. Raises ToolcribError."""
    with connect(given.database) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (PATH,))
        server = servers.named(connection, organisation, name)
    if server is None:
        raise ToolcribError(f"There is no server {name}.", "Add it first.")
    rows, hello = _listed(given, organisation, server, secrets or Secrets())
    with connect(given.database) as connection, connection.transaction():
        connection.execute("SELECT set_config('search_path', %s, true)", (PATH,))
        servers.save(connection, organisation, _greeted(server, hello))
        tools.save(connection, organisation, server.id, map(_new_tool, rows))
    return len(rows)


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
        server_info=info if isinstance(info, dict) else {},
        instructions=str(hello.get("instructions") or ""),
        grants=server.grants,
    )


def _new_tool(raw: Json) -> NewTool:
    hash_ = tool_hash(raw)
    summary = str(raw.get("description") or raw["name"])[:300]
    return NewTool(str(raw["name"]), raw, hash_, summary, 0, "", 0, trusted_hash=hash_)
