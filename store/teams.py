"""The team that this machine is joined to, the rows it sent, and its profiles."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from store.typed import Json

SERVER, TOOL, PROFILE, POLICY, REVIEW = "server", "tool", "profile", "policy", "review"
_COLUMNS = (
    "id, url, organisation, member, role, cursor, complete, synced_at, problem, joined_at, sends"
)


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """The joined team as it was when it was last reached."""

    id: int
    url: str
    organisation: str
    member: str
    role: str
    cursor: int
    complete: bool
    synced_at: float  # seconds since the epoch, 0 for never
    problem: str
    joined_at: float
    sends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One row of the team; `local_id` is the server or profile made from it, 0 for none."""

    kind: str
    remote_id: int
    body: Json
    local_id: int = 0


def current(db: apsw.Connection) -> TeamRecord | None:
    """The joined team, None for none."""
    row = db.execute(f"SELECT {_COLUMNS} FROM teams ORDER BY id LIMIT 1").fetchone()
    if row is None:
        return None
    id_, url, organisation, member, role, cursor, complete, synced, problem, joined, sends = row
    return TeamRecord(
        id_, url, organisation, member, role, cursor, bool(complete), synced, problem, joined,
        tuple(json.loads(sends)),
    )  # fmt: skip


def join(
    db: apsw.Connection, url: str, organisation: str, member: str, role: str, at: float
) -> TeamRecord:
    """Remember a team; the caller has checked that there is none yet."""
    db.execute(
        "INSERT INTO teams (url, organisation, member, role, joined_at) VALUES (?, ?, ?, ?, ?)",
        (url, organisation, member, role, at),
    )
    team = current(db)
    assert team is not None
    return team


def set_role(db: apsw.Connection, team_id: int, member: str, role: str) -> None:
    """Remember what the member is called and may do now."""
    db.execute("UPDATE teams SET member = ?, role = ? WHERE id = ?", (member, role, team_id))


def set_sends(db: apsw.Connection, team_id: int, sends: Sequence[str]) -> None:
    """Remember what is sent to the team."""
    db.execute("UPDATE teams SET sends = ? WHERE id = ?", (json.dumps(list(sends)), team_id))


def set_problem(db: apsw.Connection, team_id: int, problem: str) -> None:
    """Remember why the last synchronisation failed."""
    db.execute("UPDATE teams SET problem = ? WHERE id = ?", (problem, team_id))


def set_synced(db: apsw.Connection, team_id: int, at: float) -> None:
    """Everything up to the cursor is in the catalogue now."""
    db.execute(
        "UPDATE teams SET synced_at = ?, complete = 1, problem = '' WHERE id = ?", (at, team_id)
    )


def sent(db: apsw.Connection, team_id: int) -> tuple[int, int]:
    """The last label and the last event that were sent."""
    row = db.execute("SELECT sent_label, sent_event FROM teams WHERE id = ?", (team_id,)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def set_sent(db: apsw.Connection, team_id: int, *, label: int = 0, event: int = 0) -> None:
    """Remember what was sent last."""
    db.execute(
        "UPDATE teams SET sent_label = max(sent_label, ?), sent_event = max(sent_event, ?)"
        " WHERE id = ?",
        (label, event, team_id),
    )


def counts(
    db: apsw.Connection, after: int, at: float
) -> tuple[list[tuple[str, str, str, int]], int]:
    """(day, kind, tool, number) of the events after one, not before a time; and the last event."""
    sql = (
        "SELECT date(at, 'unixepoch'), kind, tool, count(*) FROM events WHERE id > ? AND at >= ?"
        " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    last = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    return list(db.execute(sql, (after, at))), int(last[0]) if last else 0


def forget(db: apsw.Connection, team_id: int) -> None:
    """Forget a team with its rows."""
    db.execute("DELETE FROM team_rows WHERE team_id = ?", (team_id,))
    db.execute("DELETE FROM teams WHERE id = ?", (team_id,))


def take(db: apsw.Connection, team_id: int, items: Iterable[Json], cursor: int) -> None:
    """Keep a page of changes and the cursor behind it; the catalogue has it later."""
    for item in items:
        kind, id_ = str(item["kind"]), int(item["id"])
        if item.get("deleted"):
            # its row is needed until the catalogue has lost it
            db.execute(
                "UPDATE team_rows SET stale = 2 WHERE team_id = ? AND kind = ? AND remote_id = ?",
                (team_id, kind, id_),
            )
            continue
        body = {key: value for key, value in item.items() if key not in ("kind", "id")}
        db.execute(
            "INSERT INTO team_rows (team_id, kind, remote_id, parent, body)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET parent = excluded.parent,"
            " body = excluded.body, stale = 1",
            (team_id, kind, id_, str(body.get("server", "")), json.dumps(body)),
        )
    db.execute("UPDATE teams SET cursor = ?, complete = 0 WHERE id = ?", (cursor, team_id))


def rows(db: apsw.Connection, team_id: int, kind: str, parent: str | None = None) -> list[TeamRow]:
    """Present rows of a kind, of one server's where `parent` names it."""
    sql = (
        "SELECT kind, remote_id, body, local_id FROM team_rows WHERE team_id = :team"
        " AND kind = :kind AND stale < 2 AND (:parent IS NULL OR parent = :parent)"
        " ORDER BY remote_id"
    )
    values = {"team": team_id, "kind": kind, "parent": parent}
    return [TeamRow(row[0], row[1], json.loads(row[2]), row[3]) for row in db.execute(sql, values)]


def stale(db: apsw.Connection, team_id: int, kind: str) -> tuple[list[TeamRow], list[TeamRow]]:
    """Rows that the catalogue does not have yet, and rows that it must lose."""
    waiting: tuple[list[TeamRow], list[TeamRow]] = ([], [])
    for state, kind_, id_, body, local in db.execute(
        "SELECT stale, kind, remote_id, body, local_id FROM team_rows"
        " WHERE team_id = ? AND kind = ? AND stale ORDER BY remote_id",
        (team_id, kind),
    ):
        waiting[state - 1].append(TeamRow(kind_, id_, json.loads(body), local))
    return waiting


def settle(db: apsw.Connection, team_id: int, kind: str, remote_id: int, local_id: int = 0) -> None:
    """The catalogue has this row now, as `local_id`."""
    db.execute(
        "UPDATE team_rows SET stale = 0, local_id = ? WHERE team_id = ? AND kind = ?"
        " AND remote_id = ? AND stale = 1",
        (local_id, team_id, kind, remote_id),
    )


def clear(db: apsw.Connection, team_id: int, kind: str) -> None:
    """The catalogue has all rows of a kind, and has lost those that are gone."""
    db.execute(
        "DELETE FROM team_rows WHERE team_id = ? AND kind = ? AND stale = 2", (team_id, kind)
    )
    db.execute("UPDATE team_rows SET stale = 0 WHERE team_id = ? AND kind = ?", (team_id, kind))


# ---- profiles


def profiles(db: apsw.Connection) -> dict[int, str]:
    """Names in the team of the profiles that belong to it, by their ids here."""
    return dict(db.execute("SELECT profile_id, name FROM team_profiles"))


def own(db: apsw.Connection, profile_id: int, team_id: int, name: str, version: int) -> None:
    """Say that a profile is the team's; it stays unlocked until `lock`."""
    db.execute(
        "INSERT INTO team_profiles (profile_id, team_id, name, version, unlocked)"
        " VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET name = excluded.name,"
        " version = excluded.version, unlocked = 1",
        (profile_id, team_id, name, version),
    )


def version_of(db: apsw.Connection, profile_id: int) -> int:
    """Version of a team profile, 0 for one's own."""
    sql = "SELECT version FROM team_profiles WHERE profile_id = ?"
    row = db.execute(sql, (profile_id,)).fetchone()
    return int(row[0]) if row else 0


def begin_again(db: apsw.Connection) -> None:
    """Let the next synchronisation fetch and write everything."""
    db.execute("UPDATE teams SET cursor = 0, complete = 0")


def unlock(db: apsw.Connection) -> None:
    """Allow changes of team profiles until `lock`, in the same transaction."""
    db.execute("UPDATE team_profiles SET unlocked = 1")


def lock(db: apsw.Connection) -> None:
    """Refuse changes of team profiles."""
    db.execute("UPDATE team_profiles SET unlocked = 0")


def keep_off(db: apsw.Connection, server_id: int) -> None:
    """Switch a server's tools off in every profile of the user's own that does not have them.

    A draft of a team profile gets them as the team profile does.
    """
    db.execute(
        "INSERT INTO profile_tools (profile_id, tool_id, is_on)"
        " SELECT p.id, t.id, 0 FROM profiles p JOIN tools t ON t.server_id = ?"
        " WHERE p.id NOT IN (SELECT profile_id FROM team_profiles)"
        " AND NOT (json_valid(p.settings) AND p.settings -> '$.team_draft' IS NOT NULL)"
        " ON CONFLICT DO NOTHING",
        (server_id,),
    )


def approve(db: apsw.Connection, server_id: int, at: float) -> None:
    """Approve the findings of a team's server in texts that the team has reviewed."""
    db.execute(
        "UPDATE findings SET decided = 'approved', decided_at = ? WHERE decided = '' AND tool_id IN"
        " (SELECT id FROM tools WHERE server_id = ? AND hash = trusted_hash AND problem = '')"
        " AND hash = (SELECT hash FROM tools WHERE tools.id = tool_id)",
        (at, server_id),
    )
