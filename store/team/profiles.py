"""Profiles of the team: read by those who see them, written by editors."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from psycopg.types.json import Json as AsJson

from store.errors import StoreError
from store.team.connecting import Connection
from store.team.reading import all_of, changed, number_of
from store.team.records import EVERYBODY, Profile, TickRow
from store.team.servers import scope
from store.typed import Json


class ChangedMeanwhileError(StoreError):
    """Another editor saved the row after it was read."""


def save(
    connection: Connection,
    organisation_id: int,
    name: str,
    settings: Json,
    ticks: Iterable[TickRow],
    *,
    grants: Sequence[str] = EVERYBODY,
    version: int | None = None,
) -> int:
    """Save a profile by its name; its id.

    With `version` (0: it is new), raises ChangedMeanwhileError where the row has another.
    """
    base = {"organisation": organisation_id, "name": name}
    present = all_of(
        connection,
        int,
        "SELECT version FROM profiles WHERE organisation_id = %(organisation)s"
        " AND name = %(name)s FOR UPDATE",
        base,
    )
    if version is not None and (present[0] if present else 0) != version:
        raise ChangedMeanwhileError(
            f"Profile {name} was changed by another editor.", "Read it again, then change it."
        )
    sql = (
        "INSERT INTO profiles (organisation_id, scope_id, name, settings) VALUES"
        " (%(organisation)s, %(scope)s, %(name)s, %(settings)s)"
        " ON CONFLICT (organisation_id, name) DO UPDATE SET scope_id = excluded.scope_id,"
        " settings = excluded.settings, version = profiles.version + 1, updated = now()"
        " RETURNING id"
    )
    values = {"scope": scope(connection, organisation_id, grants), "settings": AsJson(settings)}
    id_ = number_of(connection, sql, base | values)
    _save_ticks(connection, organisation_id, id_, list(ticks))
    return id_


def every(connection: Connection, organisation_id: int) -> list[Profile]:
    """All profiles that the caller sees, by name."""
    return _read(connection, organisation_id, "true")


def some(connection: Connection, organisation_id: int, ids: Sequence[int]) -> list[Profile]:
    """Those of these profiles that the caller sees."""
    return _read(connection, organisation_id, "p.id = ANY(%(ids)s)", ids=list(ids))


def named(connection: Connection, organisation_id: int, name: str) -> Profile | None:
    """The profile of this name, if the caller sees it."""
    rows = _read(connection, organisation_id, "p.name = %(name)s", name=name)
    return rows[0] if rows else None


def delete(connection: Connection, organisation_id: int, profile_id: int) -> bool:
    """Delete a profile; False if there is none that the caller may delete."""
    sql = "DELETE FROM profiles WHERE organisation_id = %(organisation)s AND id = %(id)s"
    return changed(connection, sql, {"organisation": organisation_id, "id": profile_id}) > 0


def _save_ticks(
    connection: Connection, organisation_id: int, id_: int, ticks: Sequence[TickRow]
) -> None:
    base = {"organisation": organisation_id, "profile": id_}
    changed(
        connection,
        "DELETE FROM profile_tools WHERE organisation_id = %(organisation)s"
        " AND profile_id = %(profile)s",
        base,
    )
    values = {
        "tools": [tick.tool_id for tick in ticks],
        "on": [tick.on for tick in ticks],
        "pinned": [tick.pinned for tick in ticks],
    }
    changed(
        connection,
        "INSERT INTO profile_tools (profile_id, organisation_id, tool_id, is_on, pinned)"
        " SELECT %(profile)s, %(organisation)s, u.tool, u.is_on, u.pinned FROM unnest"
        "(%(tools)s::text[], %(on)s::boolean[], %(pinned)s::boolean[]) u(tool, is_on, pinned)",
        base | values,
    )


def _read(
    connection: Connection, organisation_id: int, where: str, **values: object
) -> list[Profile]:
    values = {"organisation": organisation_id, **values}
    ticks: dict[int, list[TickRow]] = {}
    sql = (
        "SELECT k.profile_id, k.tool_id, k.is_on, k.pinned FROM profile_tools k"
        " JOIN profiles p ON p.id = k.profile_id"
        f" WHERE p.organisation_id = %(organisation)s AND {where} ORDER BY k.tool_id"
    )
    for profile, tick in all_of(connection, _tick, sql, values):
        ticks.setdefault(profile, []).append(tick)

    def made(
        id_: int,
        name: str,
        settings: Json,
        version: int,
        grants: tuple[str, ...],
        updated: datetime,
    ) -> Profile:
        own = tuple(ticks.get(id_, ()))
        return Profile(id_, name, settings, version, grants, own, updated)

    sql = (
        "SELECT p.id, p.name, p.settings, p.version, c.grants, p.updated FROM profiles p"
        " JOIN scopes c ON c.id = p.scope_id"
        f" WHERE p.organisation_id = %(organisation)s AND {where} ORDER BY p.name"
    )
    return all_of(connection, made, sql, values)


def _tick(profile: int, tool: str, on: bool, pinned: bool) -> tuple[int, TickRow]:
    return profile, TickRow(tool, on, pinned)
