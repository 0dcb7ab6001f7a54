"""search_tools of the team: candidates of the database, ranked by the code of every window."""

import threading
from typing import TYPE_CHECKING

from psycopg_pool import ConnectionPool

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.gateway.menu.search import (
    CHARACTERS_A_TOKEN,
    POOL,
    SERVER_POOL,
    AnswerText,
    limit_of,
    tools_of_server,
)
from app.ranking.ranked import Request
from app.ranking.tiers import in_tiers
from app.system.threads import start_thread
from app.team_server.caller_view import CallerView
from app.team_server.identity import Caller
from app.team_server.listed_servers import ListedServers
from app.team_server.ranking import Ranker, catalog_tool
from store.team import tools
from store.team.connecting import Connection, as_member
from store.typed import Json

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder

_LONGEST = 2_000  # characters of a query
_LOAD_SECONDS = 60.0  # that an end waits for the encoder,
_FIRST_SECONDS = 10.0  # and a search that needs it


def load_encoder() -> "Encoder | None":
    """The encoder of this machine, None where it is not prepared: then words alone are compared."""
    from app.encoder.onnx import Encoder
    from app.encoder.weights import find_model

    model = find_model(Paths.default())
    try:
        return Encoder.load(model) if model is not None else None
    except ToolcribError:
        return None


class TeamFinder:
    """Answers search_tools; the encoder joins in when it is loaded."""

    def __init__(self, pool: ConnectionPool[Connection], listed: ListedServers) -> None:
        self._pool = pool
        self._listed = listed
        self._ranker = Ranker(None)
        self._loading: threading.Thread = start_thread(self._load)

    def _load(self) -> None:
        encoder = load_encoder()
        if encoder is not None:
            self._ranker = Ranker(encoder)

    def close(self) -> None:
        """Let the loading end: a process that ends amid it is aborted by the runtime."""
        self._loading.join(_LOAD_SECONDS)
        self._listed.close()

    def search(self, caller: Caller, view: CallerView, fields: Json) -> str:
        """The text of a search's answer."""
        limit, server = limit_of(fields.get("limit")), str(fields.get("server") or "")[:_LONGEST]
        query = str(fields.get("query") or fields.get("tool") or "")[:_LONGEST]
        request = Request(query, server, str(fields.get("tool") or "")[:_LONGEST])
        with as_member(self._pool, caller.member) as connection:
            ranked = self._ranker.rank(
                connection,
                caller.member,
                request,
                limit=max(limit, SERVER_POOL if server else POOL),
                settings=view.settings,
                ticks=view.ticks.values(),
                allows=view.is_on,
            )
            ids = [tool.id for tool in ranked.tools]
            rows = tools.some(connection, caller.member.organisation_id, ids)
        usable = {row.id: row for row in rows if not view.reason(row)}
        listed = [tool for tool in ranked.tools if tool.id in usable]
        pinned = {row.id for row in usable.values() if row.tool_id in view.pins}
        tiers = in_tiers(listed, pinned, view.settings.routing) if pinned else listed
        gateway = view.settings.gateway
        rows_of = {id_: catalog_tool(row, view.servers[row.server]) for id_, row in usable.items()}
        answer = AnswerText(
            rows_of.get,
            tools_of_server(tiers, server),
            ranked,
            limit=limit,
            budget=int(gateway.search_tokens * CHARACTERS_A_TOKEN),
            level=gateway.slim,
        )
        text = answer.text("")
        if answer.best is not None or not gateway.marketplace:
            return text
        self._loading.join(_FIRST_SECONDS)  # by words alone nothing is sure enough to be named
        more = self._listed.suggestion(self._ranker.encoder, query)
        return "\n".join(filter(None, [text, more]))
