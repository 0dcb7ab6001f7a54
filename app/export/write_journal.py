"""Notes on the host file that is being written, so that a killed write can be cleaned up.

They are in `export.lock`, whose lock makes the writes of host files wait for one another. The
system releases it when a process dies; the next holder cleans up by the notes in it.
"""

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.paths import LOCK_FILE
from app.core.safe_write import is_temporary, put_new
from app.export.exchanging import Step, Version, discard, is_settled, keep, resume
from store.files import lock
from store.typed import Json

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_LOCK_WAIT = 3.0  # seconds to wait for another writer of ours
_HOST_WRITES = 1.0  # seconds within which a host lets go of its own lock
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class WriteJournal:
    """The notes of the one process that may write host files."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self.notes: Json = {}
        self.killed: Notes | None = None  # of the writer before, where it did not end
        self.unfinished = False  # the store lacks it; the next writer notes it

    def note(self, *, sync: bool = True, **facts: object) -> None:
        """Add to the notes; with `sync` they are on the disk when this returns.

        Raises ToolcribError where that is impossible.
        """
        line = json.dumps(facts).encode() + b"\n"
        try:
            os.lseek(self._handle, 0, os.SEEK_END)
            os.write(self._handle, line)
            if sync:
                os.fsync(self._handle)
        except OSError as error:
            raise write_error(self._path, error) from error
        self.notes.update(facts)

    def note_step(self, step: Step) -> None:
        """Note the exchange that comes next."""
        over, under = step.over, step.under
        self.note(step=[over.inode, over.hash, under.inode, under.hash])

    def read(self) -> None:
        """Take in what a killed writer noted; a line that it did not finish says nothing."""
        os.lseek(self._handle, 0, os.SEEK_SET)
        for line in os.read(self._handle, 1_000_000).splitlines():
            with contextlib.suppress(ValueError):
                self.notes.update(json.loads(line))

    def clear(self) -> None:
        """Note that nothing is being written; if that fails, the next writer notices."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
        self.notes = {}


@contextlib.contextmanager
def one_writer(home: Path, *, wait: float | None = None) -> Iterator[WriteJournal]:
    """Lets one Toolcrib process write host files at a time, after what a killed one left."""
    path = home / LOCK_FILE
    try:
        handle = os.open(path, _OPEN, 0o600)
    except OSError as error:
        raise write_error(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise write_error(path, OSError(errno.EINVAL, "it is not a plain file"))
        deadline = time.monotonic() + (_LOCK_WAIT if wait is None else wait)
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise ToolcribError("Another Toolcrib is writing host files.", "Try again.")
            time.sleep(0.02)
        journal = WriteJournal(path, handle)
        journal.read()
        journal.killed = Notes.read(journal.notes) if journal.notes else None
        settle(journal)
        try:
            yield journal
        finally:
            settle(journal)
    finally:
        os.close(handle)


def settle(journal: WriteJournal) -> None:
    """Finish what the notes say or take it back: no file beside, and what the host wrote stays.

    Raises ToolcribError where a version of the host's could not be put back.
    """
    notes = Notes.read(journal.notes)
    try:
        settle_file(journal)
    finally:
        if notes.lock:
            with contextlib.suppress(OSError):
                _settle_lock(notes)
    for folder in notes.folders:  # deepest first; one with something in it stays
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    if journal.notes and not journal.unfinished:
        journal.clear()


def settle_file(journal: WriteJournal) -> None:
    """Finish what the notes say of a file beside the target; the rest of the notes stays.

    Raises ToolcribError as settle() does.
    """
    notes = Notes.read(journal.notes)
    if not is_temporary(os.path.basename(notes.temporary)):
        return
    try:
        _settle(notes, journal)
    except FileNotFoundError:  # nothing is left
        return
    except OSError as error:
        lost = f"{notes.target} could not be put back: {error.strerror}."
        try:
            kept = keep(notes.temporary, notes.target)
        except OSError:  # the notes stay, for the next writer
            hint = f"Its newest version may be in {notes.temporary}. Copy it, then try again."
            raise ToolcribError(lost, hint) from error
        if not journal.unfinished:
            journal.clear()
        raise ToolcribError(lost, f"Its newest version may be in {kept}.") from error


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes of a writer; "" and 0 for steps that it did not reach."""

    file: str = ""  # the host's file by the name that the records have for it
    target: str = ""  # where its links lead
    temporary: str = ""
    inode: int = 0  # of the file made beside the target
    expected: str = ""  # hash of the file to replace
    ours: str = ""  # hash of the new bytes
    lock: str = ""  # the host's own lock, which is taken
    lock_id: str = ""
    folders: tuple[str, ...] = ()
    step: tuple[int | str, ...] = ()  # inode and hash of what goes over, then of what is under

    @classmethod
    def read(cls, notes: Json) -> "Notes":
        """The notes of those names."""
        known = {name: notes[name] for name in cls.__slots__ if name in notes}
        lists = {name: tuple(known.get(name, ())) for name in ("folders", "step")}
        return cls(**{**known, **lists})

    def last_step(self) -> Step:
        """The exchange that was under way; the first one is not noted, as it follows from these."""
        if self.step:
            inode, over, under_inode, under = self.step
            return Step(Version(int(inode), str(over)), Version(int(under_inode), str(under)))
        return Step(Version(self.inode, self.ours), Version(0, self.expected))


def _settle(notes: Notes, journal: WriteJournal) -> None:
    left = os.lstat(notes.temporary)
    if not stat.S_ISREG(left.st_mode):
        return
    own = Version(notes.inode, notes.ours)
    if notes.inode > 0 and notes.expected:
        resume(notes.temporary, notes.target, notes.last_step(), own, journal.note_step)
    elif notes.inode < 0 and not is_settled(notes.temporary, Version(0, notes.expected)):
        # what was to be removed, which the host had changed; a newer one stays
        with contextlib.suppress(FileExistsError):
            put_new(notes.temporary, notes.target)
            return
        discard(notes.temporary)
    else:
        discard(notes.temporary)


def lock_id(path: str) -> str:
    """Identity of a lock, to tell it from the next lock of the same name."""
    now = os.lstat(path)
    return f"{now.st_ino} {now.st_mtime_ns}"


def _settle_lock(notes: Notes) -> None:
    """Release the host's lock that a killed writer held, but not one that is the host's."""
    now = lock_id(notes.lock)
    if not notes.lock_id:  # killed while taking it: the host may have been first
        time.sleep(_HOST_WRITES)
    if lock_id(notes.lock) == (notes.lock_id or now):
        os.rmdir(notes.lock) if os.path.isdir(notes.lock) else os.unlink(notes.lock)


def write_error(path: Path, error: OSError) -> ToolcribError:
    """A sentence for a write that failed; the file itself was not touched."""
    if error.errno in _FULL:
        return ToolcribError(
            f"The disk is full, so {path} was not written.", "Free some space and try again."
        )
    if error.errno in _CLOSED:
        return ToolcribError(f"{path} is read-only.", "Give yourself write access and try again.")
    return ToolcribError(f"{path} could not be written: {error.strerror}.", "Nothing was changed.")


def _try_lock(handle: int) -> bool:
    try:
        return lock(handle)
    except OSError:
        return False
