"""Hosts with a URL of the endpoint in their files, by Toolcrib's writes."""

from collections.abc import Sequence

import apsw

from app.hosts.facts import HostFacts, load_hosts
from app.policy.profiles import profile_of
from store import exports, profiles, teams
from store.records import THROUGH, ExportRecord


def is_over_http(history: Sequence[ExportRecord]) -> bool:
    """True if the newest write that was not undone gave the host a URL."""
    newest = exports.newest_own(history)
    return newest is not None and newest.mode == THROUGH and newest.over_http


def over_http(db: apsw.Connection) -> tuple[HostFacts, ...]:
    """Every such host, by rank; without those that reach a team's gateway."""
    own = teams.profiles(db)
    of_team = {record.name for record in profiles.all_profiles(db) if record.id in own}
    written = [(facts, exports.for_host(db, facts.id)) for facts in load_hosts()]
    return tuple(
        facts
        for facts, history in written
        if is_over_http(history) and profile_of(history) not in of_team
    )
