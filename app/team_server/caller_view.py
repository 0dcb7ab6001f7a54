"""Tools that a caller may use in one profile: grants, ticks, policies and review together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from psycopg_pool import ConnectionPool

from app.core.settings import ProfileSettings
from app.policy.policy_file import Policy, names_tool, parse_policy
from app.team_server import refusal
from app.team_server.identity import Caller
from store.findings import KEPT
from store.team import policies, profiles, servers, tools
from store.team.connecting import Connection, as_member
from store.team.records import TEAM_POLICY, Profile, Server, TickRow, Tool
from store.typed import Json, compact_json

DEFAULT = ""  # the profile of an address that names none: everything that the caller may use


@dataclass(frozen=True, slots=True)
class CallerView:
    """One caller's view of one profile; holds no rows of tools."""

    settings: ProfileSettings
    ticks: Mapping[str, TickRow]
    policies: Sequence[Policy]
    servers: Mapping[str, Server]  # those that may be used

    def reason(self, tool: Tool) -> str:
        """Reason that a tool of the catalogue may not be called, "" for none."""
        if not self.is_on(tool.tool_id):
            return "it is off in this profile"
        if tool.held or tool.decision == KEPT:
            return "it is held for review"
        if tool.problem:
            return tool.problem
        if tool.hash != tool.trusted_hash:
            return "its text changed and was not reviewed yet"
        if any(names_tool(p, tool.tool_id) for one in self.policies for p in one.confirm):
            return "the policy wants a person's yes; call it through Toolcrib on your machine"
        return ""

    def is_on(self, tool_id: str) -> bool:
        """True if the profile and the policies leave a tool on."""
        server = tool_id.partition("/")[0]
        tick = self.ticks.get(tool_id)
        if server not in self.servers or (tick is not None and not tick.on):
            return False
        return all(policy.allows(tool_id) for policy in self.policies)

    @property
    def pins(self) -> list[str]:
        """Tools that are always listed."""
        return [one.tool_id for one in self.ticks.values() if one.pinned and one.on]


class CallerViews:
    """Reads what a caller may use; every reading is bound to the member."""

    def __init__(self, pool: ConnectionPool[Connection]) -> None:
        self._pool = pool

    def view(self, caller: Caller, profile: str) -> CallerView:
        """The view of a profile. Raises RefusedError where the caller sees no such profile."""
        with as_member(self._pool, caller.member) as connection:
            return self._read(connection, caller, profile)

    def _read(self, connection: Connection, caller: Caller, name: str) -> CallerView:
        organisation = caller.member.organisation_id
        profile = profiles.named(connection, organisation, name) if name else None
        if name and profile is None:
            raise refusal.no_right()
        settings = ProfileSettings.from_json(profile.settings if profile else {})
        parsed = [
            parse_policy(one.text.encode(), f"policy {one.name}")
            for one in policies.every(connection, organisation)
            if one.name in (TEAM_POLICY, name)
        ]
        wanted = settings.servers
        usable = {
            row.name: row
            for row in servers.every(connection, organisation)
            if row.enabled and (wanted is None or row.name in wanted)
        }
        return CallerView(settings, _ticks(profile), parsed, usable)

    def tool(self, caller: Caller, tool_id: str) -> Tool | None:
        """The tool `server/tool`, if the caller sees it."""
        with as_member(self._pool, caller.member) as connection:
            return tools.named(connection, caller.member.organisation_id, tool_id)

    def of_server(self, caller: Caller, view: CallerView, server: Server) -> list[Tool]:
        """The tools of one server that may be called."""
        with as_member(self._pool, caller.member) as connection:
            rows = tools.every(connection, caller.member.organisation_id, server=server.id)
        return [tool for tool in rows if not view.reason(tool)]

    def pinned(self, caller: Caller, view: CallerView) -> list[Tool]:
        """The pinned tools that may be called."""
        rows = [self.tool(caller, tool_id) for tool_id in view.pins]
        return [tool for tool in rows if tool is not None and not view.reason(tool)]


def _ticks(profile: Profile | None) -> dict[str, TickRow]:
    return {tick.tool_id: tick for tick in profile.ticks} if profile is not None else {}


def text_of(tool: Tool) -> str:
    """A tool's JSON as text, by which checkers of arguments know it."""
    return compact_json(tool.raw)


def visible(tool: Tool, name: str) -> Json:
    """The tool under the name that a host sees."""
    return {**tool.raw, "name": name}
