"""Profiles made, renamed, forgotten and brought back, and which hosts get one."""

from collections.abc import Collection
from dataclasses import dataclass

import apsw

from app.catalog.catalog import find_profile
from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.hosts.facts import host
from store import exports, profiles
from store.connection import transaction
from store.records import AS_IS, HOOK, ExportRecord, ProfileRecord, ToolState

DEFAULT = "default"  # is always there
LONGEST = 60  # characters of a name; hosts' files hold it


@dataclass(frozen=True, slots=True)
class DeletedProfile:
    """Everything of a profile, so that forgetting it can be undone."""

    profile: ProfileRecord
    states: tuple[ToolState, ...]


def names(db: apsw.Connection) -> tuple[str, ...]:
    """Every profile, the oldest first."""
    return tuple(profile.name for profile in profiles.all_profiles(db))


def name_problem(name: str, known: Collection[str]) -> str:
    """Reason that a new profile cannot have that name, "" when it can."""
    if not name:
        return "A profile needs a name."
    if name in known:
        return f"There is a profile called {name} already."
    if len(name) > LONGEST:
        return f"A name has at most {LONGEST} characters."
    if name.startswith("-") or name != name.strip() or not name.isprintable():
        return "A name begins with no - or blank, ends with no blank, and can be seen."
    return ""


def create(db: apsw.Connection, name: str, copy_of: str = "") -> Changes:
    """A new profile: every tool on, or as another one is; raises ToolcribError for a bad name."""
    check_name(db, name)
    source = find_profile(db, copy_of).id if copy_of else None
    with transaction(db):
        profiles.create(db, name, copy_of=source)
    return Changes(profile=True)


def rename(db: apsw.Connection, old: str, new: str) -> Changes:
    """Another name; raises ToolcribError where a host's file has the old one."""
    check_name(db, new)
    _free(db, old, "renamed")
    with transaction(db):
        profiles.rename(db, find_profile(db, old).id, new)
    return Changes(profile=True)


def forget(db: apsw.Connection, name: str) -> DeletedProfile:
    """Delete a profile that no host gets; raises ToolcribError when one does."""
    _free(db, name, "deleted")
    record = find_profile(db, name)
    kept = DeletedProfile(record, tuple(profiles.states(db, record.id).values()))
    with transaction(db):
        profiles.delete(db, record.id)
    return kept


def bring_back(db: apsw.Connection, kept: DeletedProfile) -> Changes:
    """Undo `forget`; raises ToolcribError when the name was given to another one meanwhile."""
    check_name(db, kept.profile.name)
    with transaction(db):
        profiles.put_back(db, kept.profile, kept.states)
    return Changes(profile=True)


def profile_of(history: Collection[ExportRecord]) -> str:
    """The profile that a host gets by its writes, "" when its files are as they were."""
    newest = next(iter(exports.in_force(history)), None)
    return newest.profile if newest is not None and newest.mode != AS_IS else ""


def why_kept(db: apsw.Connection, name: str) -> ToolcribError | None:
    """Reason that a profile can be neither renamed nor deleted, None when it can.

    A host gets what was last written to it. Where that is undone and an earlier profile is
    gone, the gateway says so in each answer, and the host is shown as one to write anew.
    """
    if name == DEFAULT:
        return ToolcribError("The profile default stays.", "Hosts fall back to it.")
    by_file: dict[tuple[str, str, bool], list[ExportRecord]] = {}
    for record in exports.all_exports(db):
        about = (record.host, record.file, record.mode == HOOK)
        by_file.setdefault(about, []).append(record)
    hosts = [key for (key, _, _), records in by_file.items() if profile_of(records) == name]
    getting = sorted({host(key).name for key in hosts})
    if not getting:
        return None
    return ToolcribError(
        f"{', '.join(getting)} {'gets' if len(getting) == 1 else 'get'} the profile {name}.",
        "Write another profile to them, or put their files back, first.",
    )


def _free(db: apsw.Connection, name: str, what: str) -> None:
    reason = why_kept(db, name)
    if reason is not None:
        raise ToolcribError(f"{name} was not {what}. {reason.title}", reason.hint)


def check_name(db: apsw.Connection, name: str) -> None:
    """Raise ToolcribError where a new profile cannot have that name."""
    problem = name_problem(name, names(db))
    if problem:
        raise ToolcribError(problem)
