"""Drafts of team profiles: an editor's own copies, and what they change in the team's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from app.catalog.catalog import find_profile
from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings, changed_parts, with_settings
from app.policy.profiles import check_name
from app.team.catalogue import (
    TeamTicks,
    counted,
    policies_of,
    server_names,
    servers_here,
    team_tools,
    ticks,
)
from store import profiles, teams
from store.connection import transaction
from store.records import ProfileRecord, ToolState
from store.teams import TeamRecord
from store.typed import Json, JsonMapping

DRAFT = "team_draft"  # key of a draft's settings: what it was made from
EDITORS = ("editor", "admin")
_READ_ONLY = "Only editors of the team change it. You are {}."


@dataclass(frozen=True, slots=True)
class PlaceInTeam:
    """The relation of a profile here to the team: `name` is the team profile's, "" for none."""

    name: str = ""
    draft: bool = False
    refusal: str = ""  # the reason that the user may not change it


def place_in_team(db: apsw.Connection, profile: str) -> PlaceInTeam:
    """The relation of a profile to the team, for menus."""
    team, record = teams.current(db), profiles.by_name(db, profile)
    if team is None or record is None:
        return PlaceInTeam()
    refusal = "" if team.role in EDITORS else _READ_ONLY.format(f"a {team.role}")
    base = _base(record)
    if base is not None:
        return PlaceInTeam(str(base["name"]), True, refusal)
    return PlaceInTeam(teams.profiles(db).get(record.id, ""), False, refusal)


def begin(db: apsw.Connection, name: str, copy_of: str) -> Changes:
    """Make a draft of a team profile. Raises ToolcribError where the user is no editor."""
    check_name(db, name)
    source, team = find_profile(db, copy_of), teams.current(db)
    row = _row(db, team, teams.profiles(db).get(source.id, "")) if team is not None else None
    if team is None or row is None:
        raise ToolcribError(f"{copy_of} is no profile of a team.", "Choose a team profile first.")
    _check_role(team)
    with transaction(db):
        profiles.create(db, name, settings={**source.settings, DRAFT: row}, copy_of=source.id)
    return Changes(profile=True)


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of a draft, put on the team profile as it was synchronised last."""

    name: str  # in the team
    before: Json  # the team profile: settings, ticks, version
    after: Json  # what would be saved
    lines: Sequence[str]  # one a change, for people
    overridden: Sequence[str]  # lines of changes of what another editor changed since
    left_out: Sequence[str]  # servers of the user's own, which the team does not have


def edit_of(db: apsw.Connection, profile: str) -> Edit:
    """Changes that a draft makes. Raises ToolcribError where there is nothing to make."""
    record, team = find_profile(db, profile), teams.current(db)
    base = _base(record)
    if team is None or base is None:
        raise ToolcribError(f"{profile} is no draft of a team profile.")
    _check_role(team)
    name = str(base["name"])
    present = _row(db, team, name)
    if present is None:
        raise ToolcribError(
            f"The team has no profile {name} any more.",
            "Your draft stays as a profile of your own.",
        )
    names = server_names(db, team)
    tools = team_tools(db, team, names)
    was = ticks(base, tools, counted(policies_of(db, team), name))
    states = _merged_ticks(base, present, tools, was, profiles.states(db, record.id))
    settings = _merged_settings(base, present, record, names)
    return Edit(
        name,
        present,
        {"settings": settings.value, "ticks": states.value, "version": present["version"]},
        [*states.lines, *settings.lines],
        [*states.overridden, *settings.overridden],
        settings.left_out,
    )


def rebase(db: apsw.Connection, profile: str) -> None:
    """Take the team profile as it is now for what the draft was made from."""
    record, team = find_profile(db, profile), teams.current(db)
    base = _base(record)
    present = _row(db, team, str(base["name"])) if team is not None and base is not None else None
    if present is not None:
        with transaction(db):
            profiles.save_settings(db, record.id, {**record.settings, DRAFT: present})


@dataclass(frozen=True, slots=True)
class _Merged:
    """A part of a draft put on the team profile as it is now; the rest as of `Edit`."""

    value: Json | list[Json]
    lines: list[str]
    overridden: list[str]
    left_out: list[str] = field(default_factory=list)


def _merged_ticks(
    base: JsonMapping,
    present: JsonMapping,
    tools: Mapping[str, int],
    was: TeamTicks,
    states: Mapping[int, ToolState],
) -> _Merged:
    """The draft's own states of the team's tools, `was` being those that it was made from."""
    before, now = _by_tool(base), _by_tool(present)
    lines: list[str] = []
    overridden: list[str] = []
    for tool, local in sorted(tools.items()):
        state = states.get(local, ToolState(local))
        has = {"tool": tool, "on": True, "pinned": False} | now.get(tool, {})
        changes: Json = {}
        if state.on != (local not in was.off) and state.on != has["on"]:
            changes["on"] = state.on
        if state.pinned != (local in was.pinned) and state.pinned != has["pinned"]:
            changes["pinned"] = state.pinned
        if not changes:
            continue
        words = [_WORDS[key, value].format(tool) for key, value in changes.items()]
        lines += words
        if before.get(tool) != now.get(tool):
            overridden += words
        now[tool] = has | changes
    return _Merged(list(now.values()), lines, overridden)


_WORDS = {
    ("on", True): "Turn on {}",
    ("on", False): "Turn off {}",
    ("pinned", True): "Pin {}",
    ("pinned", False): "Unpin {}",
}


def _merged_settings(
    base: JsonMapping, present: JsonMapping, record: ProfileRecord, names: Mapping[str, str]
) -> _Merged:
    """The draft's own settings, put on the present ones; `names` here by those in the team."""
    before = _plain(base["settings"], names)
    own = {key: value for key, value in record.settings.items() if key != DRAFT}
    parts = changed_parts(before, ProfileSettings.from_json(own))
    now = ProfileSettings.from_json(present["settings"])
    since = changed_parts(before, _plain(present["settings"], names))
    left_out: list[str] = []
    if "servers" in parts:
        in_team = {here: name for name, here in names.items()}
        wanted = parts["servers"] if parts["servers"] is not None else tuple(in_team)
        left_out = [one for one in wanted if one not in in_team]
        parts["servers"] = tuple(in_team[one] for one in wanted if one in in_team)
        if sorted(parts["servers"]) == sorted(
            name for name, here in names.items() if here in (before.servers or ())
        ):
            del parts["servers"]
    merged = with_settings(now, parts)
    changed = changed_parts(now, merged)
    lines = {k: f"Set {k} to {_shown(v)}" for k, v in parts.items() if k in changed}
    overridden = [line for key, line in lines.items() if key in since]
    return _Merged(merged.to_json(), list(lines.values()), overridden, left_out)


def _plain(settings: JsonMapping, names: Mapping[str, str]) -> ProfileSettings:
    """Settings of a team profile as a profile here has them."""
    return ProfileSettings.from_json({**settings, "servers": servers_here(settings, names)})


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _by_tool(body: JsonMapping) -> dict[str, Json]:
    return {str(one["tool"]): one for one in body.get("ticks") or ()}


def _base(record: ProfileRecord) -> Json | None:
    """The team profile that a draft was made from, None for another profile."""
    base = record.settings.get(DRAFT)
    return base if isinstance(base, dict) and isinstance(base.get("name"), str) else None


def _row(db: apsw.Connection, team: TeamRecord, name: str) -> Json | None:
    rows = teams.rows(db, team.id, teams.PROFILE)
    return next((row.body for row in rows if row.body.get("name") == name), None)


def _check_role(team: TeamRecord) -> None:
    if team.role not in EDITORS:
        raise ToolcribError(
            _READ_ONLY.format(f"a {team.role}"), "Copy it for yourself, or ask an editor."
        )
