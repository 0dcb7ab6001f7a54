"""Rows that a member may send to the team: labelled queries, and counts of use by day."""

import os
from dataclasses import dataclass

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.scrubber import Scrubber
from app.indexing.kept_secrets import KeptSecrets
from app.team.catalogue import server_names
from app.team.client import TeamClient
from app.team.membership import current, token_of
from store import queries, teams
from store.connection import transaction
from store.teams import TeamRecord
from store.typed import Json

LABELS, USE = "labels", "use"
SENDABLE = {
    LABELS: "labelled queries, with the tools of the team that they should find",
    USE: "numbers of searches and calls by day and tool of the team; no query, no argument",
}
_KINDS = ("search", "call", "error", "miss")
_DAYS = 30
_MOST = 500  # rows of one request


@dataclass(frozen=True, slots=True)
class UnsentRows:
    """Rows of one kind that the team does not have, and the mark of the last of them."""

    rows: list[Json]
    last: int


def unsent(ctx: AppContext, db: apsw.Connection, kind: str) -> UnsentRows:
    """Every row that would be sent now, as it would be sent."""
    team = current(db)
    label, event = teams.sent(db, team.id)
    return _labels(ctx, db, team, label) if kind == LABELS else _counts(ctx, db, team, event)


def choose(db: apsw.Connection, kinds: list[str]) -> None:
    """Switch on what is sent after each synchronisation. Raises ToolcribError."""
    if any(kind not in SENDABLE for kind in kinds):
        raise ToolcribError("That cannot be sent.", f"There are: {', '.join(SENDABLE)}.")
    team = current(db)
    with transaction(db):
        teams.set_sends(db, team.id, kinds)


def send(ctx: AppContext, db: apsw.Connection) -> dict[str, int]:
    """Send what the member switched on, each row once; the number of rows of each kind."""
    team, numbers = current(db), dict[str, int]()
    with TeamClient(team.url, token_of(ctx, team)) as client:
        for kind in team.sends:
            waiting = unsent(ctx, db, kind)
            for start in range(0, len(waiting.rows), _MOST):
                part = waiting.rows[start : start + _MOST]
                client.send(f"/v1/{kind}", {"labels" if kind == LABELS else "counts": part})
            mark = {"label" if kind == LABELS else "event": waiting.last}
            with transaction(db):
                teams.set_sent(db, team.id, **mark)
            numbers[kind] = len(waiting.rows)
    return numbers


def _labels(ctx: AppContext, db: apsw.Connection, team: TeamRecord, after: int) -> UnsentRows:
    names, rows, last = _team_names(db, team), list[Json](), after
    scrubber = Scrubber()
    KeptSecrets(scrubber, ctx.paths, os.environ).learn(db)
    for label in queries.labels(db):
        if label.id <= after:
            continue
        last = max(last, label.id)
        tools = [_named(tool, names) for tool in label.expected]
        if tools and all(tools):
            rows.append({"query": scrubber.text(label.query)[:500], "tools": tools})
    return UnsentRows(rows, last)


def _counts(ctx: AppContext, db: apsw.Connection, team: TeamRecord, after: int) -> UnsentRows:
    names = _team_names(db, team)
    counts, last = teams.counts(db, after, ctx.clock() - _DAYS * 86_400)
    rows = [
        {"day": day, "kind": kind, "tool": _named(tool, names), "count": number}
        for day, kind, tool, number in counts
        if kind in _KINDS and _named(tool, names)
    ]
    return UnsentRows(rows, last)


def _team_names(db: apsw.Connection, team: TeamRecord) -> dict[str, str]:
    """Names in the team by the names here."""
    return {here: name for name, here in server_names(db, team).items()}


def _named(tool_id: str, names: dict[str, str]) -> str:
    server, _, tool = tool_id.partition("/")
    return f"{names[server]}/{tool}" if server in names and tool else ""
