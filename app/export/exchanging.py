"""Two names that change places, through which the host's newest write comes whole.

Before each exchange the journal notes what goes over what, so that the process after a killed
one can tell by the two files which steps were taken, and take the rest.
"""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import ToolcribError
from app.core.safe_write import exchange, put_new
from app.hosts.reading import hash_bytes

_MOST_EXCHANGES = 100  # with a host that writes between any two of them


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a file."""

    inode: int  # 0: any
    hash: str

    def is_same(self, other: "Version") -> bool:
        """True for the same bytes in the same file."""
        return self.hash == other.hash and (self.inode == other.inode or not self.inode)


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange: the file beside goes over the one that has the host's name."""

    over: Version
    under: Version


def version_of(path: str) -> Version:
    """The file's version now; raises OSError."""
    with open(path, "rb") as file:
        return Version(os.lstat(path).st_ino, hash_bytes(file.read()))


def is_settled(path: str, expected: Version) -> bool:
    """True if the moved file is the expected one, and no process is writing it still."""
    with open(path, "rb") as file:
        written = _has_writer(file.fileno())
    return not written and expected.is_same(version_of(path))


def put_newest_back(
    temporary: str, target: str, placed: Version, own: Version, note: Callable[[Step], None]
) -> None:
    """Exchange until what comes out is what this process put in: the host's newest write stays.

    `temporary` is the host's file that `placed` took the place of; `own` is this process's file.
    """
    for _ in range(_MOST_EXCHANGES):
        newest = _readable(temporary)
        note(Step(over=newest, under=placed))
        if not _swapped(temporary, target):
            return
        # this process has its own file open, which would count as a writer
        out = version_of(temporary) == own if placed == own else is_settled(temporary, placed)
        if out:
            discard(temporary)
            return
        placed = newest  # what came out is newer still, so that goes back in turn
    kept = keep(temporary, target)
    raise ToolcribError(
        f"Another program keeps writing {target}, so Toolcrib left it unchanged.",
        f"Quit the host and try again. One of its versions is kept in {kept}.",
    )


def resume(
    temporary: str, target: str, step: Step, own: Version, note: Callable[[Step], None]
) -> None:
    """Go on after the last step that a killed or failing writer noted. Raises OSError."""
    if os.lstat(temporary).st_ino == step.over.inode:  # it was not taken
        if step.over != own and _has(target, step.under):
            put_newest_back(temporary, target, step.under, own, note)
        else:
            discard(temporary)  # ours, or older than what the host has put there since
    elif is_settled(temporary, step.under):
        discard(temporary)
    elif not os.path.lexists(target):
        put_new(temporary, target)
    elif _has(target, step.over):
        put_newest_back(temporary, target, step.over, own, note)
    else:
        discard(temporary)  # the host has written once more


def keep(temporary: str, target: str) -> str:
    """Give a version of the host's a name that no settling of leftovers removes."""
    kept = f"{target}.toolcrib-kept-{os.urandom(4).hex()}"
    os.rename(temporary, kept)
    return kept


def discard(path: str) -> None:
    """Remove a file that is needed no more; one that cannot be removed stays."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def _has(target: str, version: Version) -> bool:
    try:
        return version.is_same(version_of(target))
    except FileNotFoundError:
        return False


def _readable(path: str) -> Version:
    """The version of a file that goes back even where its bytes cannot be read."""
    try:
        return version_of(path)
    except OSError:
        return Version(os.lstat(path).st_ino, "")


def _swapped(temporary: str, target: str) -> bool:
    """True after an exchange; False where the host had removed its file, and has it again."""
    while True:
        try:
            if exchange(temporary, target):
                return True
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), target)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                put_new(temporary, target)
                return False


def _has_writer(handle: int) -> bool:
    """True if another process has the file open for writing; only Linux can say."""
    if sys.platform == "linux":
        import fcntl

        try:
            # a lease is refused while there is a writer; SIGIO, its usual signal, would end us
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
    return False
