"""Numbered migrations; all that a file lacks are one transaction, together with its number."""

import contextlib
import os

import apsw

from store.errors import NewerStoreError, OlderStoreError
from store.files import lock

_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
_VERSION_AT = 60  # place of user_version in the file: https://sqlite.org/fileformat2.html


def steps(folder: str | os.PathLike[str] = _FOLDER) -> list[tuple[int, str]]:
    """Every migration as (number, file), in order."""
    names = [name for name in os.listdir(folder) if name[:4].isdigit() and name.endswith(".sql")]
    return sorted((int(name[:4]), os.path.join(folder, name)) for name in names)


def version(db: apsw.Connection) -> int:
    """The number of the last migration applied."""
    return int(db.pragma("user_version"))


def migrate(db: apsw.Connection, path: str) -> None:
    """Bring the file to the newest version; a copy is made first, a newer file is refused."""
    known = steps(_FOLDER)
    newest = known[-1][0]
    if version(db) == newest:
        return
    _refuse_newer(version(db), newest, path)
    _refuse_older(version(db), known[0][0], path)
    if version(db) > 0:
        _copy_aside(db, path)
    texts = []
    for number, file in known:
        with open(file, encoding="utf-8") as sql:
            texts.append((number, sql.read()))
    _apply(db, texts)


def _refuse_newer(current: int, newest: int, path: str) -> None:
    if current > newest:
        raise NewerStoreError(
            f"The database was written by a newer Toolcrib (version {current}, known: {newest}).",
            f"Update Toolcrib, or move {path} aside.",
        )


def _refuse_older(current: int, first: int, path: str) -> None:
    """The steps before the first schema were never released, and are gone."""
    if 0 < current < first:
        raise OlderStoreError(
            f"The database was written by a test version of Toolcrib (version {current}).",
            f"Move {path} aside, then read your servers again: toolcrib scan",
        )


def _copy_aside(db: apsw.Connection, path: str) -> None:
    """Keep the store of one moment: gateways of the older version go on reading and writing."""
    # a random name made anew: a link planted there is not followed
    beside = os.path.join(os.path.dirname(path), f".toolcrib-{os.urandom(8).hex()}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(beside, flags, 0o600)
    try:
        lock(handle, waits=True)  # so that it is not cleared away as a killed process's
        with contextlib.closing(apsw.Connection(beside)) as copy:
            copy.pragma("journal_mode", "memory")  # no file beside it that a kill would leave
            with copy.backup("main", db, "main") as pages:
                pages.step()
        os.lseek(handle, _VERSION_AT, os.SEEK_SET)  # to ask SQLite would make two files beside it
        number = int.from_bytes(os.read(handle, 4), "big")
        os.fsync(handle)
    except BaseException:
        os.unlink(beside)
        raise
    finally:
        os.close(handle)
    os.replace(beside, f"{path}.v{number}.bak")


def roll_back(db: apsw.Connection) -> None:
    """End the transaction, if SQLite has not ended it itself, as on a full disk."""
    if db.in_transaction:
        with contextlib.suppress(apsw.Error):
            db.execute("ROLLBACK")


def _apply(db: apsw.Connection, texts: list[tuple[int, str]]) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for number, sql in texts:
            if version(db) < number:  # another process may have been first
                db.execute(sql)
                db.pragma("user_version", number)
        db.execute("COMMIT")
    except BaseException:
        roll_back(db)
        raise
