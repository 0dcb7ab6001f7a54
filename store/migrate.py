"""Numbered migrations, each in one transaction together with its record."""

from pathlib import Path

import apsw

from store.errors import NewerStoreError

_FOLDER = Path(__file__).with_name("migrations")


def steps() -> list[tuple[int, Path]]:
    """Every migration as (number, file), in order."""
    return sorted((int(file.name[:4]), file) for file in _FOLDER.glob("[0-9]*.sql"))


def version(db: apsw.Connection) -> int:
    """The number of the last migration applied."""
    return int(db.pragma("user_version"))


def migrate(db: apsw.Connection, path: Path) -> None:
    """Bring the file to the newest version; a copy is made first, a newer file is refused."""
    known = steps()
    newest = known[-1][0]
    if version(db) == newest:
        return
    _refuse_newer(version(db), newest, path)
    if version(db) > 0:
        _copy_aside(db, path)
    for number, file in known:
        _apply(db, number, file.read_text(encoding="utf-8"))


def _refuse_newer(current: int, newest: int, path: Path) -> None:
    if current > newest:
        raise NewerStoreError(
            f"The database was written by a newer Toolcrib (version {current}, known: {newest}).",
            f"Update Toolcrib, or move {path} aside.",
        )


def _copy_aside(db: apsw.Connection, path: Path) -> None:
    import shutil  # the gateway's start has no use for it

    db.pragma("wal_checkpoint", "TRUNCATE")
    copy = path.with_name(f"{path.name}.v{version(db)}.bak")
    shutil.copy2(path, copy)


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
