"""Which tool a name means, and whether it may be used now: ticks, allowlists, preconditions."""

from app.gateway import own
from app.gateway.catalog import Shelf
from app.gateway.pruned import refusal
from app.gateway.session import Session
from app.routing.state import State, may_see, parse_preconditions, unmet
from app.settings import ProfileSettings
from store.serving import ServerRow, ToolRow


class Access:
    """The gates that a call passes; the same ones a search applies."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._generation = -1
        self._settings = ProfileSettings()

    @property
    def profile(self) -> ProfileSettings:
        """The profile's settings as they are now."""
        if self._generation != self._shelf.generation:
            self._generation = self._shelf.generation
            self._settings = ProfileSettings.from_json(self._shelf.settings)
        return self._settings

    def find(self, name: str) -> tuple[ServerRow | None, ToolRow | None]:
        """The server and tool that a name means: server/tool, server__tool, or a lone tool."""
        for separator in ("/", "__", ".", ":"):
            server, found, tool = name.partition(separator)
            row = self._shelf.servers.get(server) if found else None
            if row is not None:
                return row, self._shelf.tool(row.id, tool)
        owners = [server for server, tool in self._shelf.names() if tool == name]
        if len(set(owners)) == 1:
            row = self._shelf.servers[owners[0]]
            return row, self._shelf.tool(row.id, name)
        return None, None

    def reason(self, row: ServerRow, tool: ToolRow, session: Session) -> str:
        """Why a tool may not be used now, "" when it may."""
        if not row.trusted:
            return "its server is not trusted yet"
        reason = refusal(tool)
        if reason:
            return reason
        profile = self.profile
        if not profile.scopes and not profile.preconditions:
            return ""
        tool_id, state = f"{row.name}/{tool.name}", self.state(session)
        rules = [(who, p) for p, allowed in profile.scopes.items() for who in allowed]
        if rules and not may_see(tool_id, rules, state.principals):
            return "it is not for this user"
        if profile.preconditions:
            declared = [(p, text) for p, texts in profile.preconditions.items() for text in texts]
            condition = unmet(tool_id, parse_preconditions(declared), state)
            if condition is not None:
                return condition.problem
        return ""

    def state(self, session: Session) -> State:
        """What the session has reached, for preconditions."""
        signed_in = {
            row.name
            for row in self._shelf.servers.values()
            if row.name not in session.refused
            and (row.taken_with.get("signed_in") or own.has_credentials(row.spec))
        }
        principals = self._shelf.settings.get("principals")
        return State(
            scopes=frozenset(signed_in),
            called=tuple(session.called),
            milestones=frozenset(session.milestones),
            principals=frozenset(map(str, principals if isinstance(principals, list) else ())),
        )
