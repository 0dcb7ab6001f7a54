"""An editor's review of the team's tools: a decision counts for every member and one text."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.team import membership
from app.team.catalogue import is_held, kept_texts, server_names
from app.team.client import TeamClient
from store import teams
from store.typed import Json


@dataclass(frozen=True, slots=True)
class TeamTool:
    """A tool as the team sent it last."""

    name: str  # server/tool in the team
    here: str  # server/tool on this machine
    raw: Json
    hash: str
    held: bool  # until an editor approves this text
    kept: bool  # by a review of this text


def team_tools(db: apsw.Connection) -> list[TeamTool]:
    """Every tool of the joined team, by name. Raises ToolcribError where there is no team."""
    team = membership.current(db)
    names = server_names(db, team)
    kept = kept_texts(db, team)
    rows = [(row.remote_id, row.body) for row in teams.rows(db, team.id, teams.TOOL)]
    made = [
        TeamTool(
            f"{body['server']}/{body['name']}",
            f"{names.get(str(body['server']), '')}/{body['name']}",
            body["raw"] if isinstance(body.get("raw"), dict) else {},
            str(body.get("hash", "")),
            is_held(body),
            (id_, str(body.get("hash", ""))) in kept,
        )
        for id_, body in rows
    ]
    return sorted(made, key=lambda tool: tool.name)


def named(rows: Sequence[TeamTool], texts: Sequence[str]) -> list[TeamTool]:
    """The tools of these names, which are the team's or this machine's.

    Raises ToolcribError for a name of no tool.
    """
    known = {tool.here: tool for tool in rows} | {tool.name: tool for tool in rows}
    missing = [text for text in texts if text not in known]
    if missing:
        raise ToolcribError(f"The team has no tool {missing[0]}.", "It is written SERVER/TOOL.")
    return [known[text] for text in dict.fromkeys(texts)]


def decide(
    ctx: AppContext, db: apsw.Connection, rows: Sequence[TeamTool], decision: str, reason: str = ""
) -> None:
    """Decide for the whole team about these texts, then synchronise.

    Raises ToolcribError where a text has changed in the team, or the role does not allow it;
    nothing is decided then.
    """
    team = membership.current(db)
    body: Json = {
        "decision": decision,
        "reason": reason,
        "tools": [{"tool": tool.name, "hash": tool.hash} for tool in rows],
    }
    with TeamClient(team.url, membership.token_of(ctx, team)) as client:
        client.send("/v1/reviews", body)
    membership.synchronise(ctx, db)
