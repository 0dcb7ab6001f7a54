"""Sessions that called tools, of the gateway's journal and of the hosts' records, by their owner.

An owner is what can get a profile: the project that a session worked in where that is known, else
the host.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import apsw

from app.evidence.use import recorded_sessions
from app.hosts.facts import load_hosts
from store import events

HOST, PROJECT = "host", "project"
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """A host by its id, or a project by the name that a host gives to its folder."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Session:
    """Calls of one session, by tool id."""

    owner: Owner
    calls: Mapping[str, int]


def read_sessions(db: apsw.Connection, since: float) -> list[Session]:
    """Sessions since a moment; one that is in the journal and in a record counts from both."""
    ids = _host_ids()
    journal: dict[str, tuple[str, dict[str, int]]] = {}
    for session, name, tool, calls in events.session_calls(db, since):
        host = ids.get(_plain(name), name)
        journal.setdefault(session, (host, {}))[1][tool] = calls
    sessions = [Session(Owner(HOST, host), calls) for host, calls in journal.values() if host]
    for one in recorded_sessions(db, since):
        owner = Owner(PROJECT, one.folder) if one.folder else Owner(HOST, one.host)
        sessions.append(Session(owner, one.calls))
    return sessions


def by_owner(sessions: Iterable[Session]) -> dict[Owner, dict[str, int]]:
    """Calls of each owner, by tool id."""
    owners: dict[Owner, dict[str, int]] = {}
    for session in sessions:
        calls = owners.setdefault(session.owner, {})
        for tool, number in session.calls.items():
            calls[tool] = calls.get(tool, 0) + number
    return owners


def _host_ids() -> dict[str, str]:
    """Host ids by the names that hosts give themselves."""
    ids: dict[str, str] = {}
    for facts in load_hosts():
        ids |= {_plain(facts.name.partition(" (")[0]): facts.id, _plain(facts.id): facts.id}
    return ids


def _plain(name: str) -> str:
    return _ODD.sub("-", name.lower()).strip("-")
