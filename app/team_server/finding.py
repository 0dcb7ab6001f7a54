"""search_tools of the team: candidates of the database, ranked by the code of every window."""

from psycopg_pool import ConnectionPool

from app.hooks.signatures import cut, signature
from app.team_server.caller_view import CallerView
from app.team_server.identity import Caller
from store.team import tools
from store.team.connecting import Connection, as_member
from store.typed import Json


class TeamFinder:
    """Answers search_tools."""

    def __init__(self, pool: ConnectionPool[Connection]) -> None:
        self._pool = pool

    def search(self, caller: Caller, view: CallerView, request: Json) -> str:
        """The text of a search's answer."""
        words = str(request.get("query", "")).lower().split()
        with as_member(self._pool, caller.member) as connection:
            rows = tools.every(connection, caller.member.organisation_id)
        usable = [row for row in rows if not view.reason(row)]
        usable.sort(key=lambda row: -sum(word in str(row.raw).lower() for word in words))
        if not usable:
            return "No tool fits."
        return "\n".join(
            f"{signature(row.tool_id, row.raw)}: {cut(row.summary, 80)}" for row in usable[:8]
        )
