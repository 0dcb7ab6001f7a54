"""The team gateway's URL for a team profile, in place of this machine's own endpoint."""

from dataclasses import fields
from urllib.parse import quote

import apsw

from app.catalog.catalog import Catalog
from app.hosts.facts import HostFacts
from app.hosts.places import Places
from app.system.endpoint import Address, Endpoint, TeamEndpoint
from store import profiles, teams

VARIABLE = "TOOLCRIB_TEAM_TOKEN"
_SPELLED = {"opencode": "{{env:{}}}", "vscode": "${{env:{}}}"}
_SPELLED |= dict.fromkeys(("shell", "shell-default", "braces"), "${{{}}}")
_NAMES_ALONE = "http_headers"  # Codex's headers: it fills in none, and has a key for the name


def endpoint_of(db: apsw.Connection, profile: str, own: Endpoint | None) -> Endpoint | None:
    """The team's gateway where the profile is the team's, else this machine's own endpoint."""
    team, record = teams.current(db), profiles.by_name(db, profile)
    name = teams.profiles(db).get(record.id) if record is not None else None
    if own is None or team is None or record is None or name is None:
        return own
    kept = {field.name: getattr(own, field.name) for field in fields(Endpoint)}
    return TeamEndpoint(
        **kept | {"on": True, "at_login": True, "refusal": ""},
        place=f"{team.url}/mcp/{quote(name, safe='')}",
        reaches=tuple(record.settings.get("servers") or ()),
    )


def servers_of(db: apsw.Connection, catalog: Catalog) -> tuple[str, ...]:
    """Servers of the catalogue's profile where that is a team's; choosing it names them."""
    if not is_of_team(db, catalog.profile.name):
        return ()
    wanted = profiles.by_name(db, catalog.profile.name)
    listed = set(wanted.settings.get("servers") or ()) if wanted is not None else set()
    return tuple(one.name for one in catalog.servers if one.name in listed and one.trusted)


def is_of_team(db: apsw.Connection, profile: str) -> bool:
    """True if the profile is a team's."""
    record = profiles.by_name(db, profile)
    return record is not None and record.id in teams.profiles(db)


def takes_variable(facts: HostFacts) -> bool:
    """True if the host fills in a variable of its own environment in a header."""
    return facts.interpolation in _SPELLED or facts.style.headers == _NAMES_ALONE


def by_reference(address: Address, facts: HostFacts, places: Places) -> Address:
    """The address with the variable's name for the token, where that is set and the host can."""
    if VARIABLE not in places.environ or not takes_variable(facts):
        return address
    spelled = _SPELLED.get(facts.interpolation, "{}").format(VARIABLE)
    return Address(address.url, spelled, VARIABLE)
