"""A team's rows in the catalogue of this machine: servers, tools, profiles, and their removal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.policy.policy_file import Policy, parse_policy
from app.secrets.secret_store import SecretStore, install_key
from store import profiles, servers, teams, tools
from store.findings import KEPT
from store.hashes import tool_hash
from store.records import MANUAL, READ, EntryRecord, NewTool, SelfDescription
from store.teams import TeamRecord, TeamRow
from store.typed import Json, JsonMapping

_HELD = "Your team holds this tool for review."
_TEAM_POLICY = "team"
_AUTHORIZATION = "Authorization"


@dataclass(frozen=True, slots=True)
class Applied:
    """Numbers of rows that came, changed or went."""

    servers: int = 0
    tools: int = 0
    profiles: int = 0


def place_of(team: TeamRecord) -> str:
    """The place of a team's servers, where other servers have the file that names them."""
    return f"team:{team.url}"


def is_held(body: Json) -> bool:
    """True if the team gives a tool to no member with its present text."""
    return bool(body.get("held")) or body.get("hash") != body.get("trusted_hash")


def kept_texts(db: apsw.Connection, team: TeamRecord) -> set[tuple[int, str]]:
    """Remote ids and hashes of the tools that a review keeps from the members."""
    bodies = [row.body for row in teams.rows(db, team.id, teams.REVIEW)]
    return {
        (int(body["tool"]), str(body["hash"])) for body in bodies if body.get("decision") == KEPT
    }


def tool_problem(body: Json) -> str:
    """Reason that a tool of the team cannot be used here, "" for none."""
    if is_held(body):
        return _HELD
    return str(body.get("problem") or "")


class TeamCatalogue:
    """Brings the catalogue to what the team sent; the caller owns the transaction."""

    def __init__(self, ctx: AppContext, db: apsw.Connection, team: TeamRecord, token: str) -> None:
        self._ctx = ctx
        self._db = db
        self._team = team
        self._token = token
        self._secrets = SecretStore.open(ctx.paths)

    def apply(self) -> Applied:
        """Servers, tools and profiles that changed."""
        fresh, gone = teams.stale(self._db, self._team.id, teams.SERVER)
        for row in fresh:
            self._place(row)
        self._drop(gone)
        number = self._tools(fresh)
        renewed = self._profiles(all_again=bool(fresh or gone or number))
        for kind in (teams.SERVER, teams.TOOL, teams.REVIEW, teams.POLICY, teams.PROFILE):
            teams.clear(self._db, self._team.id, kind)
        return Applied(len(fresh) + len(gone), number, renewed)

    def renew_token(self) -> None:
        """Reach every server with a new token."""
        for row in teams.rows(self._db, self._team.id, teams.SERVER):
            self._place(row)

    # ---- servers

    def _place(self, row: TeamRow) -> None:
        name = str(row.body.get("name", ""))
        launch = LaunchSpec(
            "http",
            url=f"{self._team.url}/servers/{quote(name, safe='')}/mcp",
            headers={_AUTHORIZATION: f"Bearer {self._token}"},
        )
        spec, secrets = launch.to_spec(install_key(self._ctx.paths))
        entry = EntryRecord(MANUAL, "team", place_of(self._team), name)
        taken = servers.by_name(self._db, name)
        is_own = taken is not None and any(e.file == entry.file for e in taken.entries)
        wanted = name if taken is None or is_own else f"{name}@{self._team.organisation}"
        server_id = servers.place(self._db, entry, spec, name=wanted, trusted=True)
        servers.set_disabled(self._db, server_id, not row.body.get("enabled", True))
        self._secrets.put(spec.key, secrets)
        teams.settle(self._db, self._team.id, teams.SERVER, row.remote_id, server_id)

    def _drop(self, gone: Sequence[TeamRow]) -> None:
        for row in gone:
            if row.local_id:
                remove_server(self._db, self._secrets, row.local_id, place_of(self._team))

    # ---- tools

    def _tools(self, fresh: Sequence[TeamRow]) -> int:
        changed, gone = teams.stale(self._db, self._team.id, teams.TOOL)
        touched = {str(row.body.get("server", "")) for row in (*changed, *gone)}
        touched |= {str(row.body.get("name", "")) for row in fresh}
        rows = teams.rows(self._db, self._team.id, teams.SERVER)
        for row in rows:
            name = str(row.body.get("name", ""))
            if name in touched and row.local_id:
                self._save_tools(row, teams.rows(self._db, self._team.id, teams.TOOL, name))
        return len(changed) + len(gone)

    def _save_tools(self, server: TeamRow, rows: Sequence[TeamRow]) -> None:
        db, at = self._db, self._ctx.clock()
        ordered = sorted(rows, key=lambda row: (int(row.body.get("position", 0)), row.remote_id))
        new = [_new_tool(row.body) for row in ordered]
        described = SelfDescription(
            capabilities={"tools": {}}, instructions=str(server.body.get("instructions", ""))
        )
        servers.save_reading(db, server.local_id, described, at=at)
        servers.set_status(db, server.local_id, READ, "", "")
        delta = tools.save_list(db, server.local_id, new, at)
        tools.trust(db, (*delta.added, *delta.changed))
        teams.keep_off(db, server.local_id)

    # ---- profiles

    def _profiles(self, *, all_again: bool) -> int:
        db, team = self._db, self._team
        changed, gone = teams.stale(db, team.id, teams.PROFILE)
        policies = teams.stale(db, team.id, teams.POLICY)
        every = teams.rows(db, team.id, teams.PROFILE)
        writing = every if all_again or any(policies) else changed
        teams.unlock(db)
        for row in gone:
            if row.local_id:
                profiles.delete(db, row.local_id)
        if writing:
            self._write_profiles(writing)
        teams.lock(db)
        return len(writing) + len(gone)

    def _write_profiles(self, rows: Sequence[TeamRow]) -> None:
        names = server_names(self._db, self._team)
        of_team = team_tools(self._db, self._team, names)
        rules = policies_of(self._db, self._team)
        for row in rows:
            self._write_profile(row, names, of_team, counted(rules, str(row.body["name"])))

    def _write_profile(
        self,
        row: TeamRow,
        names: Mapping[str, str],
        of_team: Mapping[str, int],
        policies: Sequence[Policy],
    ) -> None:
        db, body = self._db, row.body
        settings = dict(body.get("settings") or {})
        settings["servers"] = servers_here(settings, names)
        profile_id = row.local_id
        if not profile_id or all(one.id != profile_id for one in profiles.all_profiles(db)):
            profile_id = profiles.create(db, self._free_name(str(body["name"]))).id
        teams.own(db, profile_id, self._team.id, str(body["name"]), int(body.get("version", 0)))
        profiles.save_settings(db, profile_id, settings)
        made = ticks(body, of_team, policies)
        loose = [one for one in made.on if one not in made.pinned]
        profiles.set_on(db, profile_id, made.on, True)
        profiles.set_on(db, profile_id, made.off, False)
        profiles.set_pinned(db, profile_id, loose, False)
        profiles.set_pinned(db, profile_id, made.pinned, True)
        teams.settle(db, self._team.id, teams.PROFILE, row.remote_id, profile_id)

    def _free_name(self, wanted: str) -> str:
        taken = {record.name for record in profiles.all_profiles(self._db)}
        name = f"{wanted}@{self._team.organisation}"
        number = 2
        while name in taken:
            name, number = f"{wanted}@{self._team.organisation}-{number}", number + 1
        return name


def server_names(db: apsw.Connection, team: TeamRecord) -> dict[str, str]:
    """Names here of the team's servers by their names in the team."""
    here = servers.names(db)
    rows = teams.rows(db, team.id, teams.SERVER)
    return {str(row.body["name"]): here[row.local_id] for row in rows if row.local_id in here}


def servers_here(settings: JsonMapping, names: Mapping[str, str]) -> list[str]:
    """Names here of the servers that a team profile is of, in order."""
    wanted = settings.get("servers")
    chosen = names if not isinstance(wanted, list) else [one for one in wanted if one in names]
    return sorted(names[one] for one in chosen)


def team_tools(db: apsw.Connection, team: TeamRecord, names: Mapping[str, str]) -> dict[str, int]:
    """Rows here of the team's tools by their names in the team."""
    ids = {record.tool_id: record.id for record in tools.tools(db)}
    return {
        f"{body['server']}/{body['name']}": ids[local]
        for body in (row.body for row in teams.rows(db, team.id, teams.TOOL))
        if (local := f"{names.get(str(body['server']), '')}/{body['name']}") in ids
    }


def policies_of(db: apsw.Connection, team: TeamRecord) -> dict[str, Policy]:
    """The team's policies by name."""
    rows = teams.rows(db, team.id, teams.POLICY)
    return {str(row.body["name"]): _policy(row.body) for row in rows}


def counted(rules: Mapping[str, Policy], profile: str) -> list[Policy]:
    """Policies that count for a team profile."""
    return [rules[name] for name in (_TEAM_POLICY, profile) if name in rules]


@dataclass(frozen=True, slots=True)
class TeamTicks:
    """Rows here of the tools that are on, off and pinned in a team profile."""

    on: list[int]
    off: list[int]
    pinned: list[int]


def ticks(body: JsonMapping, of_team: Mapping[str, int], policies: Sequence[Policy]) -> TeamTicks:
    """The ticks of a team profile, as its policies leave them."""
    own = {str(one["tool"]): one for one in body.get("ticks") or ()}
    off = [
        local
        for tool, local in of_team.items()
        if not own.get(tool, {}).get("on", True) or not all(p.allows(tool) for p in policies)
    ]
    pinned = [of_team[tool] for tool, one in own.items() if one.get("pinned") and tool in of_team]
    without = set(off)
    on = [local for local in of_team.values() if local not in without]
    return TeamTicks(on, off, [one for one in pinned if one not in without])


def _new_tool(body: Json) -> NewTool:
    raw = body.get("raw")
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise ToolcribError("The team server sent a tool without a text.", "Tell who runs it.")
    # the hash is ours: what the team says of a text counts for that text alone
    return NewTool(str(body["name"]), raw, tool_hash(raw), tool_problem(body))


def _policy(body: Json) -> Policy:
    return parse_policy(
        str(body.get("text", "")).encode(), f"policy {body.get('name')} of the team"
    )


def remove_server(db: apsw.Connection, secrets: SecretStore, server_id: int, place: str) -> None:
    """Take a team's server out of the catalogue with its tools and its credential."""
    known = servers.by_id(db, server_id)
    if known is None:
        return
    others = [entry for entry in known.entries if entry.file != place]
    keep = servers.entry_names(db, MANUAL, place) - {e.name for e in known.entries}
    servers.drop_missing_entries(db, MANUAL, place, keep)
    if not others:
        secrets.delete(known.spec.key)
        servers.remove(db, server_id)
