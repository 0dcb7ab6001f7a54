"""The items that members get for rows that changed, as JSON."""

from collections.abc import Callable, Mapping

from store.team import policies, profiles, reviews, servers, tools
from store.team.connecting import Connection
from store.team.records import Change
from store.typed import Json


def sent_items(db: Connection, organisation: int, rows: list[Change]) -> list[Json]:
    """The items of these changes, in their order, of the kinds that members get.

    A row that the caller does not see is gone for him.
    """
    bodies: dict[tuple[str, int], Json] = {}
    for kind, (_, read) in _KINDS.items():
        ids = [row.row_id for row in rows if row.kind == kind and not row.gone]
        known = read(db, organisation, ids) if ids else {}
        bodies |= {(kind, id_): body for id_, body in known.items()}
    return [
        {"kind": _KINDS[row.kind][0], "id": row.row_id}
        | bodies.get((row.kind, row.row_id), {"deleted": True})
        for row in rows
        if row.kind in _KINDS
    ]


def _sent_servers(db: Connection, organisation: int, ids: list[int]) -> dict[int, Json]:
    return {
        row.id: {
            "name": row.name,
            "transport": row.transport,
            "spec": row.spec,
            "url": row.url,
            "sign_in": row.sign_in,
            "instructions": row.instructions,
            "enabled": row.enabled,
        }
        for row in servers.some(db, organisation, ids)
    }


def _sent_tools(db: Connection, organisation: int, ids: list[int]) -> dict[int, Json]:
    return {
        row.id: {
            "server": row.server,
            "name": row.name,
            "raw": row.raw,
            "hash": row.hash,
            "trusted_hash": row.trusted_hash,
            "held": row.held,
            "problem": row.problem,
            "position": row.position,
        }
        for row in tools.some(db, organisation, ids)
    }


def _sent_profiles(db: Connection, organisation: int, ids: list[int]) -> dict[int, Json]:
    return {
        row.id: {
            "name": row.name,
            "settings": row.settings,
            "version": row.version,
            "ticks": [
                {"tool": tick.tool_id, "on": tick.on, "pinned": tick.pinned} for tick in row.ticks
            ],
        }
        for row in profiles.some(db, organisation, ids)
    }


def _sent_policies(db: Connection, organisation: int, ids: list[int]) -> dict[int, Json]:
    return {
        row.id: {"name": row.name, "text": row.text}
        for row in policies.every(db, organisation)
        if row.id in ids
    }


def _sent_decisions(db: Connection, organisation: int, ids: list[int]) -> dict[int, Json]:
    return {
        row.id: {"tool": row.tool_id, "hash": row.hash, "decision": row.decision}
        for row in reviews.decisions(db, organisation, ids)
    }


# of a change: the item's kind, and what reads the rows
_KINDS: Mapping[str, tuple[str, Callable[[Connection, int, list[int]], dict[int, Json]]]] = {
    "servers": ("server", _sent_servers),
    "tools": ("tool", _sent_tools),
    "profiles": ("profile", _sent_profiles),
    "policies": ("policy", _sent_policies),
    "decisions": ("review", _sent_decisions),
}
