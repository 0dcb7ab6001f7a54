"""Obstacles to a URL with a token in a host's file, and notes before it is written."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.core.endpoint import profile_at, team_profile_at
from app.core.errors import ToolcribError
from app.export.http.of_team import VARIABLE, takes_variable
from app.hosts.entries import view_entry
from app.hosts.facts import EntryStyle, HostFacts, HostFile
from app.system.endpoint import Address, Endpoint, TeamEndpoint
from store.records import THROUGH

_COMMAND = "Write it as a command instead."
_REPOSITORIES = (".git", ".hg", ".jj", ".svn")


def why_no_url(facts: HostFacts, mode: str, endpoint: Endpoint, *, in_project: bool) -> str:
    """Reason against a URL for this host, in one sentence; "" when it may have one."""
    if mode != THROUGH:
        return "Only the one entry for all servers (through) can be written as a URL."
    if not facts.http:
        return f"{facts.name} is not known to take a URL with a token in its file. {_COMMAND}"
    if in_project:
        return f"A project's file may be committed, and the token with it. {_COMMAND}"
    return endpoint.refusal


def check_file(path: Path, kind: HostFile) -> None:
    """Raise ToolcribError for a file that must not hold a token."""
    if kind.style is not None:
        raise ToolcribError(f"How {path} spells a URL is not known.", _COMMAND)
    real = Path(os.path.realpath(path))
    for folder in real.parents:
        if any(os.path.lexists(folder / name) for name in _REPOSITORIES):
            raise ToolcribError(
                f"{real} is in the repository {folder}, where the token could be committed.",
                _COMMAND,
            )


def host_notes(facts: HostFacts, endpoint: Endpoint, profile: str, reference: str) -> Iterator[str]:
    """Notes on what a host loses and gains when it reaches Toolcrib by a URL."""
    if isinstance(endpoint, TeamEndpoint):
        yield from _team_notes(facts, endpoint, reference)
        return
    if not endpoint.on:
        at = f"127.0.0.1:{endpoint.port}"
        yield f"The HTTP endpoint ({at}) is off, so {facts.name} would reach nothing."
    if endpoint.at_login:
        yield f"{facts.name} cannot start Toolcrib over HTTP; your login starts it."
    else:
        yield (
            f"{facts.name} cannot start Toolcrib over HTTP: after a login its tools are missing"
            " until another host or `toolcrib backend http on` has started it, or your login, if"
            " you let it (Settings, Login)."
        )
    variable = bool(facts.interpolation or facts.style.passes)
    why = " (a variable's name in its place would stay empty: nothing sets one)" if variable else ""
    yield f"Its file gets a token{why}, which opens the profile {profile} to all who read it."


def _team_notes(facts: HostFacts, endpoint: TeamEndpoint, variable: str) -> Iterator[str]:
    yield (
        f"{facts.name} reaches the team at {endpoint.place} itself: it needs the network, and what"
        " it calls is not in this machine's log."
    )
    if variable:
        yield f"{facts.name} takes your token from {variable}, which must be set where it starts."
    else:
        yield "Its file gets your team token, which opens the team's tools to all who read it."
        if takes_variable(facts):
            yield f"Set {VARIABLE} and write again to keep the token out of the file."


def file_notes(path: Path, entry: object, style: EntryStyle, address: Address) -> Iterator[str]:
    """Notes on outdated parts of the file's entry, and on others who may read the file."""
    launch = view_entry(entry, style).launch if isinstance(entry, Mapping) else None
    if launch is not None and (profile_at(launch.url) or team_profile_at(launch.url)):
        if launch.url != address.url:
            yield f"The file has the URL {launch.url}, which is {address.url} now: write again."
        if launch.headers.get("Authorization") != address.bearer:
            yield "The token in the file is no longer the profile's: write again."
    if is_open_to_others(path):
        yield f"Other users of this computer may read {path}; chmod 600 keeps the token from them."


def is_open_to_others(path: Path) -> bool:
    """True if a file, and each folder above it, lets other users in."""
    if os.name == "nt":
        return False
    real = Path(os.path.realpath(path))
    try:
        if not real.stat().st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
    except OSError:  # a new file is its owner's alone
        return False
