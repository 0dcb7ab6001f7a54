"""Servers of the team with the grants that open them; no row holds a secret."""

from collections.abc import Sequence

from pgvector import HalfVector
from psycopg.types.json import Json as AsJson

from store.team.connecting import Connection
from store.team.reading import all_of, changed, number_of
from store.team.records import NewServer, Server

_COLUMNS = (
    "s.id, s.name, s.transport, s.spec, s.url, s.sign_in, s.server_info, s.instructions,"
    " s.enabled, c.grants, s.updated"
)
_FROM = "servers s JOIN scopes c ON c.id = s.scope_id"


def scope(connection: Connection, organisation_id: int, grants: Sequence[str]) -> int:
    """The id of a set of grants, made where it is new."""
    values = {"organisation": organisation_id, "grants": sorted(set(grants))}
    sql = (
        "INSERT INTO scopes (organisation_id, grants) VALUES (%(organisation)s, %(grants)s)"
        " ON CONFLICT (organisation_id, grants) DO UPDATE SET grants = excluded.grants"
        " RETURNING id"
    )
    known = "SELECT id FROM scopes WHERE organisation_id = %(organisation)s AND grants = %(grants)s"
    if connection.execute(known.encode(), values).fetchone():
        return number_of(connection, known, values)
    id_ = number_of(connection, sql, values)
    # editors see every set of grants: this transaction's list is older than this one
    connection.execute(
        "SELECT set_config('toolcrib.scopes', (toolcrib.scopes() || %s::bigint)::text, true)",
        (id_,),
    )
    return id_


def save(connection: Connection, organisation_id: int, server: NewServer) -> int:
    """Save a server by its name; its id. Its tools follow its grants."""
    sql = (
        "INSERT INTO servers (organisation_id, scope_id, name, transport, spec, url, sign_in,"
        " server_info, instructions) VALUES (%(organisation)s, %(scope)s, %(name)s, %(transport)s,"
        " %(spec)s, %(url)s, %(sign_in)s, %(info)s, %(instructions)s)"
        " ON CONFLICT (organisation_id, name) DO UPDATE SET scope_id = excluded.scope_id,"
        " transport = excluded.transport, spec = excluded.spec, url = excluded.url,"
        " sign_in = excluded.sign_in, server_info = excluded.server_info,"
        " instructions = excluded.instructions, updated = now() RETURNING id"
    )
    values = {
        "organisation": organisation_id,
        "scope": scope(connection, organisation_id, server.grants),
        "name": server.name,
        "transport": server.transport,
        "spec": AsJson(server.spec),
        "url": server.url,
        "sign_in": server.sign_in,
        "info": AsJson(server.server_info),
        "instructions": server.instructions,
    }
    return number_of(connection, sql, values)


def every(connection: Connection, organisation_id: int) -> list[Server]:
    """All servers that the caller sees, by name."""
    return _read(connection, organisation_id, "true")


def some(connection: Connection, organisation_id: int, ids: Sequence[int]) -> list[Server]:
    """Those of these servers that the caller sees."""
    return _read(connection, organisation_id, "s.id = ANY(%(ids)s)", ids=list(ids))


def named(connection: Connection, organisation_id: int, name: str) -> Server | None:
    """The server of this name, if the caller sees it."""
    rows = _read(connection, organisation_id, "s.name = %(name)s", name=name)
    return rows[0] if rows else None


def _read(
    connection: Connection, organisation_id: int, where: str, **values: object
) -> list[Server]:
    sql = (
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE s.organisation_id = %(organisation)s"
        f" AND {where} ORDER BY s.name"
    )
    return all_of(connection, Server, sql, {"organisation": organisation_id, **values})


def save_vectors(
    connection: Connection,
    organisation_id: int,
    server_id: int,
    *,
    described: HalfVector,
    enhanced: HalfVector,
) -> None:
    """Keep the vectors of a server's own texts, for requests that name a server."""
    sql = (
        "UPDATE servers SET described = %(described)s, enhanced = %(enhanced)s"
        " WHERE organisation_id = %(organisation)s AND id = %(id)s"
    )
    values = {
        "organisation": organisation_id,
        "id": server_id,
        "described": described,
        "enhanced": enhanced,
    }
    changed(connection, sql, values)


def set_enabled(
    connection: Connection, organisation_id: int, server_id: int, *, enabled: bool
) -> bool:
    """Switch a server on or off for all."""
    sql = (
        "UPDATE servers SET enabled = %(enabled)s, updated = now()"
        " WHERE organisation_id = %(organisation)s AND id = %(id)s"
    )
    values = {"organisation": organisation_id, "id": server_id, "enabled": enabled}
    return changed(connection, sql, values) > 0


def set_grants(
    connection: Connection, organisation_id: int, server_id: int, grants: Sequence[str]
) -> bool:
    """Change who sees a server and its tools."""
    sql = (
        "UPDATE servers SET scope_id = %(scope)s, updated = now()"
        " WHERE organisation_id = %(organisation)s AND id = %(id)s"
    )
    values = {
        "organisation": organisation_id,
        "id": server_id,
        "scope": scope(connection, organisation_id, grants),
    }
    return changed(connection, sql, values) > 0


def delete(connection: Connection, organisation_id: int, server_id: int) -> bool:
    """Delete a server with its tools and credentials."""
    sql = "DELETE FROM servers WHERE organisation_id = %(organisation)s AND id = %(id)s"
    return changed(connection, sql, {"organisation": organisation_id, "id": server_id}) > 0
