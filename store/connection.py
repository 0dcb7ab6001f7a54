"""The only place that opens the database."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from store.damage import missing_tables
from store.errors import (
    REPAIR,
    DamagedStoreError,
    FullStoreError,
    LockedStoreError,
    ReadOnlyStoreError,
    StoreError,
)
from store.files import give_to_owner_above
from store.migrate import migrate, roll_back, steps, version

_RETRY_SECONDS = 0.01
_LEAST_ROOM = 64 * 1024  # bytes
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}
_TEAM_PROFILE = "team profile"  # as triggers of the store put it


def open_store(
    file: str | os.PathLike[str], *, timeout_ms: int = 5000, read_only: bool = False
) -> apsw.Connection:
    """A connection to the store in `file`, migrated unless `read_only`; raises StoreError.

    Where the disk is full or the folder must not be written, an up-to-date store is opened to be
    read; its `readonly("main")` says so, and writing raises ReadOnlyStoreError or FullStoreError.
    """
    path = os.fspath(file)
    with sentences(path):
        if read_only:
            return _read_only(path, timeout_ms)
        try:
            return _writable(path, timeout_ms)
        except (*_UNWRITABLE, OSError):
            if not os.path.exists(path) or not os.path.getsize(path):
                raise
            try:
                return _read_only(path, timeout_ms)
            except (apsw.Error, StoreError):
                pass
            raise


# what SQLite says of a full disk, a read-only folder, and a disk that fails
_UNWRITABLE = (apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError)
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


def _writable(path: str, timeout_ms: int) -> apsw.Connection:
    _make_private(path)
    db = apsw.Connection(path, flags=_READ_WRITE)
    try:
        db.set_busy_timeout(timeout_ms)
        _use_wal(db, timeout_ms)
        _prepare(db)
        migrate(db, path)
        _require_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def _read_only(path: str, timeout_ms: int) -> apsw.Connection:
    """A connection that writes nothing, not even beside the file where that is impossible."""
    try:
        return _readable(path, apsw.SQLITE_OPEN_READONLY, timeout_ms)
    except _UNWRITABLE:
        # the shared index of the write-ahead log cannot be made: the file as it is, without it
        quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return _readable(f"file:{quoted}?immutable=1", flags, timeout_ms)


def _readable(name: str, flags: int, timeout_ms: int) -> apsw.Connection:
    db = apsw.Connection(name, flags=flags)
    try:
        db.set_busy_timeout(timeout_ms)
        _prepare(db)
        if version(db) < steps()[-1][0]:
            raise ReadOnlyStoreError(
                "The database is from an older Toolcrib and cannot be brought up to date here.",
                "Free some space, or check the permissions of its folder.",
            )
        _require_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def _require_tables(db: apsw.Connection) -> None:
    """Raise StoreError for a database without one of its tables: it decides what is let through."""
    if missing := missing_tables(db):
        raise DamagedStoreError(
            f"The database is damaged: it has no table {', '.join(missing)}.", REPAIR
        )


def _make_private(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        _make_folder(folder)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode=0o600))
        give_to_owner_above(path)


def _make_folder(folder: str) -> None:
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _make_folder(above)
    try:
        os.mkdir(folder, mode=0o700)
    except FileExistsError:
        return
    give_to_owner_above(folder)


def _prepare(db: apsw.Connection) -> None:
    db.pragma("foreign_keys", 1)
    db.pragma("synchronous", "normal")
    db.pragma("temp_store", "memory")  # else parts of rows pass through a file in /var/tmp


def _use_wal(db: apsw.Connection, timeout_ms: int) -> None:
    """Turn write-ahead logging on; SQLite itself does not wait when two try at once."""
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            db.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def load_vec0(db: apsw.Connection) -> None:
    """Make sqlite-vec's functions available on this connection.

    The library is found without importing sqlite_vec, whose import loads numpy.
    """
    db.enable_load_extension(True)
    try:
        db.load_extension(vec0_path())
    finally:
        db.enable_load_extension(False)


def vec0_path() -> str:
    """The vec0 library, from the sqlite_vec package or beside a frozen program."""
    name = "vec0" + _SUFFIX.get(sys.platform, ".so")
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return os.path.join(frozen, "sqlite_vec", name)
    import importlib.util  # the gateway's start has no use for it

    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise StoreError("The sqlite-vec library is not installed.", "Install Toolcrib again.")
    return os.path.join(os.path.dirname(spec.origin), name)


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[apsw.Connection]:
    """One write transaction, begun IMMEDIATE so that it cannot fail halfway for a stale read."""
    with sentences(db.filename):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            roll_back(db)
            raise


def require_writable(db: apsw.Connection) -> None:
    """Raise StoreError where the store was opened to be read only."""
    if db.readonly("main"):
        with sentences(db.filename):
            raise apsw.ReadOnlyError("opened to be read")


def data_version(db: apsw.Connection) -> int:
    """A number that changes when another connection has committed."""
    return int(db.pragma("data_version"))


@contextmanager
def sentences(path: str) -> Iterator[None]:
    """Turn SQLite's errors into StoreErrors that say what to do."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DamagedStoreError(
            f"The database {os.path.basename(path)} is damaged.",
            f"{REPAIR} Copies made before upgrades lie beside {path}.",
        ) from error
    except apsw.FullError as error:
        raise FullStoreError("The disk is full.", "Free some space and try again.") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, PermissionError) as error:
        if _is_full(path):
            raise FullStoreError("The disk is full.", "Free some space and try again.") from error
        raise ReadOnlyStoreError(
            f"The database {path} cannot be written.",
            "Check the permissions of its folder, or set TOOLCRIB_HOME to another one.",
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise LockedStoreError(
            "Another process is using the database.", "Wait for it to finish and try again."
        ) from error
    except apsw.ConstraintError as error:
        if _TEAM_PROFILE not in str(error):
            raise
        raise StoreError(
            "This profile belongs to your team.",
            "Copy it and change the copy. Editors choose Edit for the team in the Profile menu.",
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FullStoreError("The disk is full.", "Free some space and try again.") from error
        raise StoreError(f"The database {path} cannot be opened: {error.strerror}.") from error


def _is_full(path: str) -> bool:
    """True if the disk has no room for the least that SQLite needs beside its file."""
    import shutil

    try:
        return shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free < _LEAST_ROOM
    except OSError:
        return False
