"""Locks, owners and stamps of files, folders that are private, as each system has them.

Part of a gateway's start: `fcntl` and `msvcrt` are imported with the first lock.
"""

import errno
import os
import stat
import sys

_LOCKED_BYTE = 1 << 30  # Windows locks bytes: one beyond what any of our files holds
_HELD = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK})


def stamp(path: str) -> tuple[float, int]:
    """Time and size of a file, zeros where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return 0.0, 0
    return status.st_mtime, status.st_size


def lock(handle: int, *, waits: bool = False) -> bool:
    """Hold an open file until it is closed; False where another handle holds it.

    With `waits` it returns once it is held. Raises OSError where the file system has no locks.
    """
    try:
        _lock(handle, waits=waits)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True


def private_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder that only its owner can enter, and those missing above it. Raises OSError.

    One of ours that an earlier version left open is closed.
    """
    folder = os.fspath(path)
    above = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(above):
        private_folder(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        now = os.stat(folder)
        if not stat.S_ISDIR(now.st_mode):
            raise
        if sys.platform != "win32":
            if now.st_uid == os.geteuid() and now.st_mode & 0o077:
                os.chmod(folder, 0o700)


if sys.platform == "win32":

    def _lock(handle: int, *, waits: bool) -> None:
        import msvcrt

        at = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            while True:  # LK_LOCK itself gives up after ten seconds
                try:
                    msvcrt.locking(handle, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
                except OSError as error:
                    if not waits or error.errno not in _HELD:
                        raise
                else:
                    return
        finally:
            os.lseek(handle, at, os.SEEK_SET)

    def give_to_owner_above(path: str) -> None:
        """Do nothing: a new file inherits its owner and rights on Windows."""

else:

    def _lock(handle: int, *, waits: bool) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def give_to_owner_above(path: str) -> None:
        """Give a new file, made as root (sudo), to the owner of its folder."""
        if os.geteuid() == 0:
            above = os.stat(os.path.dirname(path))
            os.chown(path, above.st_uid, above.st_gid)
