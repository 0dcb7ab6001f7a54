"""Numbered migrations, each in one transaction together with its record."""

import os

import apsw

from store.errors import NewerStoreError

_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


def steps() -> list[tuple[int, str]]:
    """Every migration as (number, file), in order."""
    names = [name for name in os.listdir(_FOLDER) if name[:4].isdigit() and name.endswith(".sql")]
    return sorted((int(name[:4]), os.path.join(_FOLDER, name)) for name in names)


def version(db: apsw.Connection) -> int:
    """The number of the last migration applied."""
    return int(db.pragma("user_version"))


def migrate(db: apsw.Connection, path: str) -> None:
    """Bring the file to the newest version; a copy is made first, a newer file is refused."""
    known = steps()
    newest = known[-1][0]
    if version(db) == newest:
        return
    _refuse_newer(version(db), newest, path)
    if version(db) > 0:
        _copy_aside(db, path)
    for number, file in known:
        with open(file, encoding="utf-8") as sql:
            _apply(db, number, sql.read())


def _refuse_newer(current: int, newest: int, path: str) -> None:
    if current > newest:
        raise NewerStoreError(
            f"The database was written by a newer Toolcrib (version {current}, known: {newest}).",
            f"Update Toolcrib, or move {path} aside.",
        )


def _copy_aside(db: apsw.Connection, path: str) -> None:
    import shutil  # the gateway's start has no use for it

    db.pragma("wal_checkpoint", "TRUNCATE")
    shutil.copy2(path, f"{path}.v{version(db)}.bak")


def _apply(db: apsw.Connection, number: int, sql: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        if version(db) < number:  # another process may have been first
            db.execute(sql)
            db.pragma("user_version", number)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
