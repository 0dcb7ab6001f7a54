"""Writes the policy file of a profile: span by span, unless it changed meanwhile, with a copy."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.catalog.catalog import find_profile
from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.safe_write import make_file, write_file
from app.export import backups
from app.hosts.documents.editing import edit
from app.hosts.documents.values import read_values
from app.policy.policy_file import parse_policy, policy_bytes, read_policy
from app.policy.profile_policy import checked_path, file_of, follow, mark_of
from app.policy.profile_values import (
    ProfileValues,
    as_tree,
    edits_between,
    hindrance,
    names_of_tools,
    put_policy,
    put_values,
    read_values_of,
    whole_edits,
)
from store import policies
from store.connection import transaction
from store.records import ProfileFile
from store.typed import Json

_KEPT = 20
_EDIT, _UNDONE = "edit", "undone"  # labels of copies: before a write, and before it was taken back
_HEAD = b"# Policy of a Toolcrib profile; docs/policy.md has every key.\nversion = 1\n"


@dataclass(frozen=True, slots=True)
class FileStep:
    """Values and file of a profile before a step, to be put back."""

    values: ProfileValues
    file: ProfileFile | None


def exported(db: apsw.Connection, profile: str) -> bytes:
    """The profile's values as the text of a policy file."""
    tree = as_tree(read_values_of(db, profile), names_of_tools(db))
    return edit(_HEAD, "toml", whole_edits(tree))


def export_file(db: apsw.Connection, profile: str, path: Path) -> Path:
    """Write the profile's values to a new policy file."""
    path = checked_path(path)
    try:
        make_file(path, exported(db, profile), mode=0o644)
    except FileExistsError as error:
        raise ToolcribError(f"{path} exists already.", "Choose another name.") from error
    except OSError as error:
        raise ToolcribError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def import_file(db: apsw.Connection, profile: str, path: Path) -> FileStep:
    """Give the profile the values of a policy file once; it keeps them itself."""
    step = step_of(db, profile)
    put_policy(db, profile, read_policy(path))
    _set_file(db, profile, None)
    return step


def use_file(db: apsw.Connection, profile: str, path: Path) -> FileStep:
    """Let the profile take its values from a file; one that is missing is made from them."""
    path = checked_path(path)
    step = step_of(db, profile)
    if not path.exists():
        export_file(db, profile, path)
    read_policy(path)
    _set_file(db, profile, ProfileFile(str(path)))
    used = follow(db, profile, anew=True)
    if used is not None and used.problem:
        put_back(db, profile, step)
        raise ToolcribError(f"{path} was not taken.", used.problem)
    return step


def leave_file(db: apsw.Connection, profile: str) -> FileStep:
    """Let the profile keep its values itself; the file stays as it is."""
    _used_file(db, profile)
    step = step_of(db, profile)
    _set_file(db, profile, None)
    return step


def step_of(db: apsw.Connection, profile: str) -> FileStep:
    """Values and file as they are, to be put back."""
    return FileStep(read_values_of(db, profile), file_of(db, profile))


def put_back(db: apsw.Connection, profile: str, step: FileStep) -> Changes:
    """Take a step back: the file that was used before, or the values where there was none."""
    _set_file(db, profile, step.file)
    if step.file is None:
        put_values(db, profile, step.values)
    else:
        follow(db, profile, anew=True)
    return Changes(profile=True)


def change_profile(
    db: apsw.Connection, profile: str, paths: Paths, at: float, change: Callable[[], Changes]
) -> Changes:
    """Make a change to a profile, in its policy file too where it has one.

    The file's present text is taken in before. Where the file cannot say the change, neither the
    file nor the profile has it.
    """
    file = follow(db, profile)
    if file is None:
        return change()
    if file.problem:
        raise ToolcribError("The profile's policy file cannot be used.", file.problem)
    data, names = policy_bytes(file.path), names_of_tools(db)
    before = as_tree(read_values_of(db, profile), names)
    _set_file(db, profile, ProfileFile(file.path))  # read again if this process ends half way
    try:
        changes = change()
        after = as_tree(read_values_of(db, profile), names)
        _refuse_hindered(file, before, after)
        edits = edits_between(before, after, dict(read_values(data, "toml").value))
        new = edit(data, "toml", edits)
        if new != data:
            replace_text(profile, file.path, new, data, paths=paths, at=at)
    except ToolcribError:
        follow(db, profile, anew=True)
        raise
    _set_file(db, profile, ProfileFile(file.path, mark_of(db, new)))
    return changes


def replace_text(
    profile: str,
    path: str,
    new: bytes,
    expected: bytes,
    *,
    paths: Paths,
    at: float,
    label: str = _EDIT,
) -> None:
    """Replace a policy file's text by another valid one, unless it is not the expected one.

    A copy of the text before is kept under that label.
    """
    parse_policy(new, path)
    present = policy_bytes(path)
    if present != expected:
        raise ToolcribError(f"{path} changed meanwhile.", "Nothing was written. Try again.")
    folder = _folder(profile)
    try:
        backups.keep(paths.policy_copies, folder, Path(path), present, at=at, label=label)
        backups.prune(paths.policy_copies, folder, _KEPT, ())
        write_file(path, new)
    except OSError as error:
        raise ToolcribError(f"{path} cannot be written: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class LastWrite:
    """The newest write of a profile's policy file: the text before it, and the present one."""

    path: str
    before: bytes
    present: bytes
    copy: Path


def last_write(db: apsw.Connection, profile: str, paths: Paths) -> LastWrite:
    """The newest write that can be taken back; ToolcribError where there is none."""
    file = _used_file(db, profile)
    copies = backups.copies_of(paths.policy_copies, _folder(profile), Path(file.path), _EDIT)
    before = backups.read(str(copies[-1])) if copies else None
    if before is None:
        raise ToolcribError(f"There is no write of {file.path} to undo.")
    return LastWrite(file.path, before, policy_bytes(file.path), copies[-1])


def undo_write(
    db: apsw.Connection, profile: str, write: LastWrite, *, paths: Paths, at: float
) -> None:
    """Put the text before a write back, with a copy of the present one, and take it in."""
    before, present = write.before, write.present
    replace_text(profile, write.path, before, present, paths=paths, at=at, label=_UNDONE)
    write.copy.unlink(missing_ok=True)
    follow(db, profile)


def _used_file(db: apsw.Connection, profile: str) -> ProfileFile:
    """The file that the profile takes its values from; ToolcribError where it has none."""
    file = file_of(db, profile)
    if file is None:
        raise ToolcribError(f"The profile {profile} takes its values from no file.")
    return file


def _folder(profile: str) -> str:
    """Folder of a profile's copies: its name may hold any character."""
    return hashlib.sha256(profile.encode()).hexdigest()[:8]


def save_text(
    db: apsw.Connection, profile: str, text: tuple[bytes, bytes], *, paths: Paths, at: float
) -> Changes:
    """Replace the text of a profile's file, (expected, new), and take it in."""
    file = _used_file(db, profile)
    replace_text(profile, file.path, text[1], text[0], paths=paths, at=at)
    follow(db, profile)
    return Changes(profile=True)


def _refuse_hindered(file: ProfileFile, before: Json, after: Json) -> None:
    """Refuse to turn a tool on that another line of the file keeps off."""
    wanted = [name for name in before["tools"]["off"] if name not in after["tools"]["off"]]
    if not wanted:
        return
    policy = read_policy(file.path)
    for name in wanted:
        if why := hindrance(policy, name):
            raise ToolcribError(f"{name} cannot be turned on: {why}.", f"Edit {file.path}.")


def _set_file(db: apsw.Connection, profile: str, file: ProfileFile | None) -> None:
    with transaction(db):
        policies.set_profile_file(db, find_profile(db, profile).id, file)
