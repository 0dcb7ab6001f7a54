"""The policy file that a profile takes its values from: one place for them, followed by reading.

The store holds the values that were read; a text that cannot be used changes none of them.
"""

import hashlib
from pathlib import Path

import apsw

from app.catalog.catalog import find_profile
from app.core.errors import ToolcribError
from app.policy.policy_file import parse_policy, policy_bytes
from app.policy.profile_values import put_policy
from store import policies, tools
from store.connection import transaction
from store.records import ProfileFile


def file_of(db: apsw.Connection, profile: str) -> ProfileFile | None:
    """The policy file of a profile, None where it has values of its own."""
    return policies.profile_file(db, find_profile(db, profile).id)


def mark_of(db: apsw.Connection, data: bytes) -> str:
    """A value that differs when the text or the tools that its patterns are about changed."""
    return f"{hashlib.sha256(data).hexdigest()}:{tools.outline(db)}"


def follow(db: apsw.Connection, profile: str, *, anew: bool = False) -> ProfileFile | None:
    """Take in what the profile's file says now, where it has one; why it cannot is remembered.

    `anew` takes it in although it did not change.
    """
    record = find_profile(db, profile)
    known = policies.profile_file(db, record.id)
    if known is None:
        return None
    try:
        data = policy_bytes(known.path)
        mark = mark_of(db, data)
        if mark == known.hash and not anew:
            return known
        put_policy(db, profile, parse_policy(data, known.path))
        now_used = ProfileFile(known.path, mark)
    except ToolcribError as error:
        now_used = ProfileFile(known.path, known.hash, error.text)
    if now_used != known:
        with transaction(db):
            policies.set_profile_file(db, record.id, now_used)
    return now_used


def follow_all(db: apsw.Connection) -> None:
    """Take in the file of every profile that has one."""
    for name in policies.profiles_with_file(db):
        follow(db, name)


def checked_path(path: Path) -> Path:
    """The path of a policy file, absolute; ToolcribError for another kind of name."""
    if path.suffix != ".toml":
        raise ToolcribError(f"{path} is no policy file.", "Its name has to end in .toml.")
    return path.absolute()
