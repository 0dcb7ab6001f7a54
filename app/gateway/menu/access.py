"""Lookup of a tool by name, and its permission now: ticks, allowlists, preconditions."""

import json
from collections.abc import Container, Iterable
from typing import NamedTuple, Protocol

from app.catalog.availability import Conditions
from app.catalog.conditions import State
from app.catalog.reasons import CHANGED, DISABLED, DROPPED, UNTRUSTED, sentence
from app.catalog.setting_checks import unusable
from app.core.settings import ProfileSettings
from app.gateway.live_tools import LiveTools
from app.gateway.profile_view import ProfileView
from store.serving import ServerRow, ToolRow
from store.typed import list_or_empty


class NamedTool(NamedTuple):
    """The server and tool that a name means."""

    row: ServerRow
    tool: ToolRow | None  # None: the server never listed it, or was never read
    name: str  # the server's own for it
    tool_id: str
    refusal: str  # reason that no session may use it, "" when it depends on the session


class _Known(NamedTuple):
    """Data that is read once in a generation of the profile view."""

    generation: int
    settings: ProfileSettings
    conditions: Conditions
    tools: dict[str, NamedTool]  # by the names they were called by


class Reached(Protocol):
    """Progress of a session: calls, milestones, refusals."""

    @property
    def called(self) -> Iterable[str]:
        """Tool ids whose calls succeeded."""

    @property
    def milestones(self) -> Iterable[str]:
        """Milestones that the host reports as reached."""

    @property
    def refused(self) -> Container[str]:
        """Servers that refused the credentials."""


class Access:
    """The gates that a call passes; the same ones a search applies."""

    def __init__(self, view: ProfileView, live: LiveTools) -> None:
        self._view = view
        self._live = live
        self._known = _Known(-1, ProfileSettings(), Conditions(), {})

    @property
    def profile(self) -> ProfileSettings:
        """The profile's settings as they are now."""
        return self._now().settings

    def _now(self) -> "_Known":
        """Data for the view as it is; another thread may be reading something older."""
        generation = self._view.generation
        if self._known.generation != generation:
            settings = ProfileSettings.from_json(self._view.settings)
            conditions = Conditions.of(settings.scopes, settings.preconditions)
            self._known = _Known(generation, settings, conditions, {})
        return self._known

    def find(self, name: str) -> NamedTool | None:
        """The tool that a name means: server/tool, server__tool, or a lone tool; None when none."""
        tools = self._now().tools
        named = tools.get(name)
        if named is None:
            named = self._look(name)
            if named is not None and named.tool is not None:
                tools[name] = named
        return named

    def _look(self, name: str) -> NamedTool | None:
        for separator in ("/", "__", ".", ":"):
            server, cut, tool = name.partition(separator)
            row = self._view.servers.get(server) if cut else None
            if row is not None:
                return self._made(row, tool)
        owners = {server for server, tool in self._view.names() if tool == name}
        return self._made(self._view.servers[owners.pop()], name) if len(owners) == 1 else None

    def _made(self, row: ServerRow, name: str) -> NamedTool:
        tool = self._view.tool(row.id, name)
        tool_id = f"{row.name}/{name}"
        if tool is None:
            kind = DISABLED if row.disabled else "" if row.trusted else UNTRUSTED
            return NamedTool(row, None, name, tool_id, sentence(kind))
        return NamedTool(row, tool, name, tool_id, sentence(tool.reason, tool.problem))

    def reason(self, named: NamedTool, session: Reached) -> str:
        """Reason that a tool may not be used now, "" when it may."""
        conditions = self._known.conditions
        if named.refusal or not (conditions.rules or conditions.preconditions):
            return named.refusal
        reason = conditions.reason(named.tool_id, self.state(session))
        return reason.sentence if reason else ""

    def missing(self, name: str) -> str:
        """Reason against a name that means no tool."""
        for dropped in self._view.dropped:
            if name.startswith((f"{dropped}/", f"{dropped}__", f"{dropped}.", f"{dropped}:")):
                return sentence(DROPPED)
        return "there is no such tool"

    def asks(self, named: NamedTool, session: Reached) -> str:
        """The kind of reason against a tool where nothing but that is in the way, else ""."""
        if named.tool is None or not named.tool.reason:
            return ""
        reason = self._known.conditions.reason(named.tool_id, self.state(session))
        return "" if reason else named.tool.reason

    def is_reached(self, named: NamedTool) -> bool:
        """True while the host still reaches a tool's server, under whatever name."""
        servers, own = self._view.servers, named.row
        same = servers.get(own.name)
        if same is not None and same.id == own.id:  # nearly always
            return True
        return any(row.id == own.id for row in servers.values())

    def other_text(self, named: NamedTool) -> str:
        """Reason against an approved call: its server or its tool's text has changed since."""
        if not self.is_reached(named):
            return sentence(DROPPED)
        raw = named.tool.raw if named.tool is not None else ""
        return "" if self._live.has_text(named.row, named.name, raw) else sentence(CHANGED)

    def changed(self, named: NamedTool) -> str:
        """Reason against a tool as its running server has it now, "" when it may be used."""
        if not self.is_reached(named):
            return sentence(DROPPED)
        problem = named.tool.problem if named.tool is not None else ""
        return sentence(self._live.kind(named.row, named.name), problem)

    @property
    def problems(self) -> tuple[str, ...]:
        """The profile's settings that cannot be used, as sentences."""
        note = (self._view.project_note,) if self._view.project_note else ()
        return (*note, *unusable(self._view.settings), *self._now().conditions.problems)

    def state(self, session: Reached) -> State:
        """State that the session has reached, for preconditions."""
        signed_in = {
            row.name
            for row in self._view.servers.values()
            if row.name not in session.refused
            and (row.taken_with.get("signed_in") or _has_credentials(row.spec))
        }
        principals = self._view.settings.get("principals")
        return State(
            scopes=frozenset(signed_in),
            called=tuple(session.called),
            milestones=frozenset(session.milestones),
            principals=frozenset(map(str, list_or_empty(principals))),
        )


def _has_credentials(spec: str) -> bool:
    """True if a server's stored spec names any secret."""
    try:
        content = json.loads(spec)
    except ValueError:
        return False  # damaged: it is not started
    if not isinstance(content, dict):
        return False
    return bool(content.get("env_names") or content.get("header_names") or "${secret:" in spec)
