"""Puts bytes in place of a file: beside it, on the disk, then one rename."""

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.errors import ToolcribError
from app.hosts.reading import hash_bytes

# Named points of a write; the kill tests stop the process at each of them.
Step = Callable[[str], None]
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOCK_WAIT = 3.0  # seconds to wait for the host's own writer
_LOCK_STALE = 30.0  # seconds after which a lock is left over from a dead process


def no_step(_name: str) -> None:
    """Does nothing at any step."""


def replace_file(path: Path, data: bytes | None, *, expected: str, step: Step) -> None:
    """Replace the file's bytes (None: remove it) if it still is what was previewed.

    `expected` is the hash of the bytes previewed, "" for no file. The target of a symbolic link
    is replaced, not the link; a file keeps its mode, a new one is readable by its owner only.
    """
    target = path.resolve()
    _check_writable(target)
    if data is None:
        _check_unchanged(target, expected)
        target.unlink()
        step("replaced")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.toolcrib-{os.getpid()}")
    try:
        _write_beside(beside, data, mode=_mode(target), step=step)
        _check_unchanged(target, expected)
        step("checked")
        beside.replace(target)
        step("replaced")
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    _sync_folder(target.parent)
    step("folder synced")


def write_error(path: Path, error: OSError) -> ToolcribError:
    """A sentence for a write that failed; the file itself was not touched."""
    if error.errno in _FULL:
        return ToolcribError(
            f"The disk is full, so {path} was not written.", "Free some space and try again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ToolcribError(f"{path} is read-only.", "Give yourself write access and try again.")
    return ToolcribError(f"{path} could not be written: {error.strerror}.", "Nothing was changed.")


@contextlib.contextmanager
def one_writer(home: Path) -> Iterator[None]:
    """Lets one Toolcrib process write host files at a time; a killed one lets go by itself."""
    with (home / "export.lock").open("ab") as file:
        deadline = time.monotonic() + _LOCK_WAIT
        while not _try_lock(file.fileno()):
            if time.monotonic() > deadline:
                raise ToolcribError("Another Toolcrib is writing host files.", "Try again.")
            time.sleep(0.02)
        yield


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def host_lock(path: Path, name: str) -> Iterator[None]:
    """Holds the lock that the host's own writer honours, if it has one."""
    if not name or not path.parent.is_dir():
        yield
        return
    lock = path.with_name(name.rstrip("/").replace("{file}", path.name))
    as_folder = name.endswith("/")
    _take(lock, as_folder=as_folder, path=path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.rmdir() if as_folder else lock.unlink()


def _take(lock: Path, *, as_folder: bool, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT
    while True:
        try:
            if as_folder:
                lock.mkdir()
            else:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return
        except FileExistsError:
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


def _check_writable(target: Path) -> None:
    if target.exists() and not os.access(target, os.W_OK):
        raise ToolcribError(f"{target} is read-only.", "Give yourself write access and try again.")


def _check_unchanged(target: Path, expected: str) -> None:
    try:
        now = hash_bytes(target.read_bytes())
    except FileNotFoundError:
        now = ""
    if now != expected:
        raise ToolcribError(
            f"{target} was changed meanwhile.", "Look at the new preview, then write again."
        )


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _write_beside(beside: Path, data: bytes, *, mode: int, step: Step) -> None:
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as out:
        step("opened")
        out.write(data)
        out.flush()
        step("written")
        os.fsync(out.fileno())
    beside.chmod(mode)
    step("synced")


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
