"""The only place that opens the database."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from store.errors import (
    DamagedStoreError,
    FullStoreError,
    LockedStoreError,
    ReadOnlyStoreError,
    StoreError,
)
from store.migrate import migrate

_RETRY_SECONDS = 0.01
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}


def open_store(
    file: str | os.PathLike[str], *, timeout_ms: int = 5000, read_only: bool = False
) -> apsw.Connection:
    """A connection to the store in `file`, migrated unless `read_only`; raises StoreError."""
    path = os.fspath(file)
    with sentences(path):
        if not read_only:
            _make_private(path)
        flags = apsw.SQLITE_OPEN_READONLY if read_only else _READ_WRITE
        db = apsw.Connection(path, flags=flags)
        try:
            _prepare(db, timeout_ms, read_only)
            if not read_only:
                migrate(db, path)
        except BaseException:
            db.close()
            raise
        return db


_READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


def _make_private(path: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode=0o600))


def _prepare(db: apsw.Connection, timeout_ms: int, read_only: bool) -> None:
    db.set_busy_timeout(timeout_ms)
    if not read_only:
        _use_wal(db, timeout_ms)
    db.pragma("foreign_keys", 1)
    db.pragma("synchronous", "normal")


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
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


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
            f"Move {path} aside and scan again; copies made before upgrades lie beside it.",
        ) from error
    except apsw.FullError as error:
        raise FullStoreError("The disk is full.", "Free some space and try again.") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, PermissionError) as error:
        raise ReadOnlyStoreError(
            f"The database {path} cannot be written.",
            "Check the permissions of its folder, or set TOOLCRIB_HOME to another one.",
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise LockedStoreError(
            "Another process is using the database.", "Wait for it to finish and try again."
        ) from error
    except OSError as error:
        raise StoreError(f"The database {path} cannot be opened: {error.strerror}.") from error
