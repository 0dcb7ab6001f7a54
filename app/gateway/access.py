"""Which tool a name means, and whether it may be used now: ticks, allowlists, preconditions."""

from typing import NamedTuple

from app.gateway import own
from app.gateway.catalog import Shelf
from app.gateway.pruned import refusal
from app.gateway.session import Session
from app.routing.state import State, may_see, parse_preconditions, unmet
from app.settings import ProfileSettings
from store.serving import ServerRow, ToolRow


class Found(NamedTuple):
    """The server and tool that a name means."""

    row: ServerRow
    tool: ToolRow | None  # None: the server never listed it, or was never read
    name: str  # the server's own for it
    tool_id: str
    refusal: str  # why nobody may use it, "" when it depends on the session


class _Known(NamedTuple):
    """What is read once in a generation of the shelf."""

    generation: int
    settings: ProfileSettings
    tools: dict[str, Found]  # by the names they were called by


class Access:
    """The gates that a call passes; the same ones a search applies."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._known = _Known(-1, ProfileSettings(), {})

    @property
    def profile(self) -> ProfileSettings:
        """The profile's settings as they are now."""
        return self._now().settings

    def _now(self) -> "_Known":
        """What holds for the shelf as it is; another thread may be finding something older."""
        generation = self._shelf.generation
        if self._known.generation != generation:
            settings = ProfileSettings.from_json(self._shelf.settings)
            self._known = _Known(generation, settings, {})
        return self._known

    def find(self, name: str) -> Found | None:
        """What a name means: server/tool, server__tool, or a lone tool; None when nothing."""
        known = self._now().tools
        found = known.get(name)
        if found is None:
            found = self._look(name)
            if found is not None and found.tool is not None:
                known[name] = found
        return found

    def _look(self, name: str) -> Found | None:
        for separator in ("/", "__", ".", ":"):
            server, cut, tool = name.partition(separator)
            row = self._shelf.servers.get(server) if cut else None
            if row is not None:
                return self._made(row, tool)
        owners = {server for server, tool in self._shelf.names() if tool == name}
        return self._made(self._shelf.servers[owners.pop()], name) if len(owners) == 1 else None

    def _made(self, row: ServerRow, name: str) -> Found:
        tool = self._shelf.tool(row.id, name)
        tool_id = f"{row.name}/{name}"
        if not row.trusted:
            return Found(row, tool, name, tool_id, "its server is not trusted yet")
        return Found(row, tool, name, tool_id, refusal(tool) if tool is not None else "")

    def reason(self, found: Found, session: Session) -> str:
        """Why a tool may not be used now, "" when it may."""
        profile = self._known.settings
        if found.refusal or (not profile.scopes and not profile.preconditions):
            return found.refusal
        tool_id, state = found.tool_id, self.state(session)
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
