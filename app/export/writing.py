"""Puts bytes in place of a host's file, unless it is no longer what was previewed."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.safe_write import (
    exchange,
    put_new,
    sync_folder,
    temporary_name,
    written_beside,
)
from app.export.exchanging import Version, discard, is_settled, put_newest_back
from app.export.write_journal import WriteJournal, lock_id, settle_file, write_error
from app.hosts.reading import bytes_if_any, hash_bytes
from store.files import give_to_owner_above

_LOCK_WAIT = 3.0  # seconds to wait for the host's own writer
_LOCK_STALE = 30.0  # seconds after which a lock is left over from a dead process


def replace_file(path: Path, data: bytes | None, *, expected: str, journal: WriteJournal) -> None:
    """Replace the file's bytes (None: remove it) if it still is what was previewed.

    `expected` is the hash of the bytes previewed, "" for no file. The target of a symbolic link
    is replaced, not the link; a file keeps mode, owner and attributes, a new one is readable by
    its owner only.

    Linux on a file system with RENAME_EXCHANGE (ext4, XFS, Btrfs, tmpfs, overlayfs): whatever the
    host writes meanwhile stays, its newest write wins. Elsewhere (macOS, Windows, most network
    file systems): what it writes between the last look and the rename, microseconds, is lost.
    """
    target = os.path.realpath(path)
    check_replaceable(path, expected)
    settle_file(journal)  # of the file before, whose notes go now
    try:
        if data is None:
            _remove(target, expected, journal)
        else:
            _make_folders(os.path.dirname(target), journal)
            _replace(target, data, expected, journal)
        sync_folder(os.path.dirname(target))
        with contextlib.suppress(ToolcribError):  # they are in use now, so they would stay anyway
            journal.note(folders=[], sync=False)
    except OSError as error:
        raise write_error(path, error) from error


def check_replaceable(path: Path, expected: str) -> None:
    """Raise ToolcribError unless the file may be replaced and is what was previewed."""
    target = os.path.realpath(path)
    try:
        now = os.stat(target)
    except FileNotFoundError:
        now = None
    except OSError as error:
        raise write_error(path, error) from error
    if now is not None and not stat.S_ISREG(now.st_mode):
        raise ToolcribError(f"{path} is not a file.", "Move it away and try again.")
    if now is not None and now.st_nlink > 1:
        raise ToolcribError(
            f"{path} has {now.st_nlink} names (hard links), which a write would part.",
            "Make it a file of its own, or a symbolic link, and try again.",
        )
    if now is not None and not os.access(target, os.W_OK):
        raise ToolcribError(f"{path} is read-only.", "Give yourself write access and try again.")
    if hash_of(Path(target)) != expected:
        raise _changed(target)


def hash_of(path: Path) -> str:
    """The hash of a file's bytes, "" where there is none."""
    return hash_bytes(bytes_if_any(path))


def _changed(target: str) -> ToolcribError:
    return ToolcribError(
        f"{target} was changed meanwhile.", "Look at the new preview, then write again."
    )


def _make_folders(folder: str, journal: WriteJournal) -> None:
    """Make the folder and those above it; under sudo they belong to whom the one above does."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    if missing:
        journal.note(folders=missing)
    for new in reversed(missing):
        os.mkdir(new)
        give_to_owner_above(new)


def _replace(target: str, data: bytes, expected: str, journal: WriteJournal) -> None:
    ours = hash_bytes(data)
    inode = 0

    def name(target: str) -> str:
        made = temporary_name(target)
        journal.note(target=target, temporary=made, inode=0, expected=expected, ours=ours, step=[])
        return made

    def note_made(number: int) -> None:
        nonlocal inode
        inode = number
        journal.note(inode=number)

    mode = None if expected else 0o600
    with written_beside(target, data, mode=mode, name=name, made=note_made) as temporary:
        if not expected:
            try:
                put_new(temporary, target)
            except FileExistsError:
                raise _changed(target) from None
        elif not _exchanged(temporary, target, expected, Version(inode, ours), journal):
            raise _changed(target)


def _exchanged(
    temporary: str, target: str, expected: str, own: Version, journal: WriteJournal
) -> bool:
    """Put a file in the target's place; False, and the target as it is, where that changed."""
    if not exchange(temporary, target):
        # no such step here: what a host writes between this look and the rename is lost
        if hash_of(Path(target)) != expected:
            return False
        os.replace(temporary, target)
        return True
    try:
        if is_settled(temporary, Version(0, expected)):
            # one that stays is no reason to undo the write; settled with the notes
            discard(temporary)
            return True
    except BaseException:
        put_newest_back(temporary, target, own, own, journal.note_step)
        raise
    put_newest_back(temporary, target, own, own, journal.note_step)
    return False


def _remove(target: str, expected: str, journal: WriteJournal) -> None:
    """Take the file away, look at what was taken, and put it back if the host had changed it."""
    aside = temporary_name(target)
    journal.note(target=target, temporary=aside, expected=expected, inode=-1, step=[])
    os.rename(target, aside)
    try:
        if not is_settled(aside, Version(0, expected)):
            raise _changed(target)
        os.unlink(aside)
    except BaseException:
        with contextlib.suppress(FileExistsError):  # then there is a newer one
            put_new(aside, target)
        raise


@contextlib.contextmanager
def host_lock(path: Path, name: str, journal: WriteJournal) -> Iterator[None]:
    """Holds the lock that the host's own writer honours, if it has one."""
    target = Path(os.path.realpath(path))
    if not name or not target.parent.is_dir():
        yield
        return
    lock = target.with_name(name.rstrip("/").replace("{file}", target.name))
    as_folder = name.endswith("/")
    _take(lock, as_folder=as_folder, path=target, journal=journal)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ToolcribError):
            lock.rmdir() if as_folder else lock.unlink()
            journal.note(lock="", sync=False)


def _take(lock: Path, *, as_folder: bool, path: Path, journal: WriteJournal) -> None:
    deadline = time.monotonic() + _LOCK_WAIT
    while True:
        try:
            if not os.path.lexists(lock):
                journal.note(lock=str(lock), lock_id="", sync=False)
            if as_folder:
                lock.mkdir()
            else:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            journal.note(lock_id=lock_id(str(lock)), sync=False)
            return
        except FileExistsError:
            journal.note(lock="", sync=False)
            if _is_stale(lock):
                with contextlib.suppress(OSError):
                    lock.rmdir() if lock.is_dir() else lock.unlink()
            elif time.monotonic() > deadline:
                hint = f"If nothing does, remove {lock.name} and try again."
                raise ToolcribError(f"Another program is writing {path}.", hint) from None
            else:
                time.sleep(0.05)
        except OSError as error:
            raise write_error(path, error) from error


def _is_stale(lock: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - lock.stat().st_mtime > _LOCK_STALE
    return False
