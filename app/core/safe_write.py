"""The one way in which Toolcrib writes files: afterwards a file holds the old bytes or the new.

The bytes go to a new file of a random name in the same folder, which is opened in no other way
than by making it, so that nothing planted there is followed. Owner, mode and extended attributes
are put on it before its content; content and folder are on the disk when a write returns.
"""

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator

from app.core.errors import ToolcribError
from store.files import lock

_PREFIX, _SUFFIX = ".toolcrib-", ".tmp"
_RANDOM = 8  # bytes of a temporary name
_OLD = 60.0  # seconds; where files cannot be locked, by this age no process writes one any more
_ACL = "system.posix_acl_access"
_MUST_KEEP = ("user.", _ACL)  # other attributes are the system's, which sets its own
_NEW_FILE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_REPLACE, _EXCHANGE = 1, 2  # flags of renameat2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


def write_file(path: str | os.PathLike[str], data: bytes, *, mode: int | None = None) -> None:
    """Replace a file in one step; of two writers the last one wins. Raises OSError.

    `mode` None: what the file has, and for a new one what the umask leaves. What a link points
    to is replaced, not the link. A device or a pipe is not replaced.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "it is not a plain file", target)
    with written_beside(target, data, mode=mode) as temporary:
        os.replace(temporary, target)
    sync_folder(os.path.dirname(target))


def make_file(path: str | os.PathLike[str], data: bytes, *, mode: int) -> None:
    """Make a file, whole from its first moment; FileExistsError where there is one."""
    target = os.fspath(path)
    with written_beside(target, data, mode=mode) as temporary:
        put_new(temporary, target)
    sync_folder(os.path.dirname(target))


def put_folder(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a finished folder of files its name in one step; what has that name goes. OSError."""
    source, target = os.fspath(folder), os.fspath(target)
    with os.scandir(source) as entries:
        for entry in entries:
            _sync(entry.path)
    sync_folder(source)
    if os.path.lexists(target):
        if not exchange(source, target):
            aside = temporary_name(target)
            os.rename(target, aside)
            os.rename(source, target)
            source = aside
        _remove(source)
    else:
        os.rename(source, target)
    sync_folder(os.path.dirname(target))


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: str) -> None:
    import shutil  # no program that only writes files needs it

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def temporary_name(target: str) -> str:
    """An unguessable name in the folder of `target`."""
    name = f"{_PREFIX}{os.urandom(_RANDOM).hex()}{_SUFFIX}"
    return os.path.join(os.path.dirname(target), name)


def is_temporary(name: str) -> bool:
    """True if a file's name is that of a temporary file of ours."""
    inner = name[len(_PREFIX) : -len(_SUFFIX)]
    ours = name.startswith(_PREFIX) and name.endswith(_SUFFIX) and len(inner) == 2 * _RANDOM
    return ours and all(letter in "0123456789abcdef" for letter in inner)


@contextlib.contextmanager
def written_beside(
    target: str,
    data: bytes,
    *,
    mode: int | None,
    name: Callable[[str], str] = temporary_name,
    made: Callable[[int], None] = lambda _inode: None,
) -> Iterator[str]:
    """A file with these bytes in the target's folder, on the disk; what is left of it goes.

    `made` gets the new file's inode before its content is written.
    """
    temporary, handle = _create(target, 0o666 if mode is None else 0o600, name)
    inode = os.fstat(handle).st_ino
    try:
        made(inode)
        _adopt(handle, target, mode)
        _write_all(handle, data)
        os.fsync(handle)
        if os.name == "nt":  # an open file cannot be renamed there
            handle = _closed(handle)
        yield temporary
    finally:
        _closed(handle)
        with contextlib.suppress(OSError):
            if os.lstat(temporary).st_ino == inode:  # else it is what was exchanged for it
                os.unlink(temporary)


def _create(target: str, mode: int, name: Callable[[str], str]) -> tuple[str, int]:
    """Create a locked file; tries another name when the folder is cleared at that moment."""
    while True:
        temporary = name(target)
        handle = os.open(temporary, _NEW_FILE, mode)
        if _lock(handle) and (os.name == "nt" or os.fstat(handle).st_nlink):
            return temporary, handle
        os.close(handle)


def _closed(handle: int) -> int:
    if handle >= 0:
        os.close(handle)
    return -1


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _adopt(handle: int, target: str, mode: int | None) -> None:
    """Give a new file the owner, the attributes and the mode of the file that it replaces."""
    old: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(target)
    if sys.platform != "win32":
        # under sudo a new file belongs to whom its folder belongs to
        owner = old or (os.stat(os.path.dirname(target)) if os.geteuid() == 0 else None)
        if owner is not None:
            _give_to(handle, owner, target)
        if old is not None:
            _copy_attributes(target, handle)
            mode = stat.S_IMODE(old.st_mode) if mode is None else mode
        if mode is not None:
            os.fchmod(handle, mode)


def _give_to(handle: int, owner: os.stat_result, target: str) -> None:
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) == (owner.st_uid, owner.st_gid):
        return
    try:
        if sys.platform != "win32":
            os.fchown(handle, owner.st_uid, owner.st_gid)
    except PermissionError as error:
        raise ToolcribError(
            f"{target} belongs to another user or group, which a write would change.",
            "Write it as that user, or make it yours first.",
        ) from error


def _copy_attributes(target: str, handle: int) -> None:
    """Copy what Linux keeps beside a file; Python knows of no such calls elsewhere."""
    if sys.platform == "linux":
        try:
            names = os.listxattr(target)
        except OSError:
            names = []
        if _ACL not in names:  # the folder may have given the new file one of its own
            with contextlib.suppress(OSError):
                os.removexattr(handle, _ACL)
        for name in names:
            try:
                os.setxattr(handle, name, os.getxattr(target, name))
            except OSError:
                if name.startswith(_MUST_KEEP):
                    raise


def sync_folder(folder: str) -> None:
    """Bring a rename in a folder to the disk."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def exchange(one: str, other: str) -> bool:
    """Let two names change places in one step; False where the file system cannot do that."""
    return _renameat2(one, other, _EXCHANGE)


def put_new(temporary: str, target: str) -> None:
    """Give a file its name unless there is one; raises FileExistsError."""
    if _renameat2(temporary, target, _NO_REPLACE):
        return
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(temporary, target)
        return
    os.unlink(temporary)


def _renameat2(one: str, other: str, flag: int) -> bool:
    """Linux's rename with a flag; False where there is none."""
    import ctypes

    here = -100  # AT_FDCWD
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if call(here, os.fsencode(one), here, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), other)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove the temporary files that killed writers left in a folder; those in use stay."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_temporary(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_left(entry.path)


def _remove_if_left(path: str) -> None:
    if os.name == "nt":
        if time.time() - os.stat(path).st_mtime > _OLD:
            os.unlink(path)
        return
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a file until it is closed; False when another process has locked it."""
    try:
        return lock(handle)
    except OSError:  # a file system without locks
        return True
