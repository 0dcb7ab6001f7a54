"""Repair of a damaged database: a copy is kept, what is whole stays, the rest is made empty.

What is lost never lets more through: a profile whose settings or ticks are gone has no server.
"""

import json
import os
from collections.abc import Sequence
from contextlib import closing, suppress

import apsw

from store import teams
from store.connection import open_store, transaction
from store.damage import NO_SERVERS, TABLES, UNUSABLE, Damage, damaged_rows, missing_tables
from store.migrate import migrate
from store.sharing import NOT_KNOWN

_EMPTY = {"settings": NO_SERVERS, "expected": [], "prompts": [], "resources": [], "templates": []}
_DROPPED = frozenset(("labels", "runs"))  # a row of these says nothing without its damaged part
_TEXTS = frozenset(
    ("taken_with", "server_info", "capabilities", "prompts", "resources", "templates")
)
_VIEWS = frozenset(("blocked", "withheld", "availability"))
_UNNUMBERED = frozenset(("host_calls", "host_requests"))  # WITHOUT ROWID: counts only
# tables without which a profile would let through what the user had switched off
_LIMITS = frozenset(("profiles", "profile_tools", "servers", "tools"))


def repair(path: str, mark: str) -> tuple[str, list[str]]:
    """Repair the database; the copy's path, and what was done, in sentences.

    `mark` is in the copy's name. Nothing is done, and the copy is "", where nothing is damaged.
    Raises StoreError where the disk or another process is in the way.
    """
    copy = f"{path}.damaged-{mark}.bak"
    if _is_readable(path):
        return _repair_rows(path, copy)
    return _salvage(path, copy)


def _is_readable(path: str) -> bool:
    try:
        with closing(apsw.Connection(path)) as db:
            return [row[0] for row in db.execute("PRAGMA quick_check(1)")] == ["ok"]
    except (apsw.NotADBError, apsw.CorruptError):
        return False


def _repair_rows(path: str, copy: str) -> tuple[str, list[str]]:
    """Mend tables and rows in place."""
    with closing(apsw.Connection(path)) as db:
        db.set_busy_timeout(5000)
        missing = missing_tables(db)
        rows = [] if missing else list(damaged_rows(db))
        if not missing and not rows:
            return "", []
        with closing(apsw.Connection(copy)) as target, target.backup("main", db, "main") as backup:
            backup.step()
        os.chmod(copy, 0o600)
        done = _make_tables(db, missing)
        with transaction(db):
            rows = list(damaged_rows(db))
            _mend_all(db, rows)
        return copy, [*done, *(row.sentence for row in rows)]


def _make_tables(db: apsw.Connection, missing: tuple[str, ...]) -> list[str]:
    """Make the missing tables anew, empty, and let nothing through that they decided on."""
    if not missing:
        return []
    with closing(apsw.Connection(":memory:")) as fresh, transaction(db):
        migrate(fresh, ":memory:")
        made = fresh.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid")
        for kind, name, table, sql in made.fetchall():
            own = name in missing or (kind in ("index", "trigger") and table in missing)
            if own and sql:
                db.execute(str(sql))
        _after_loss(db, frozenset(missing))
    return [f"The table {name} was missing: it is made anew, empty." for name in missing]


def _after_loss(db: apsw.Connection, lost: frozenset[str]) -> None:
    if "profiles" in lost:
        db.execute("INSERT OR IGNORE INTO profiles (name) VALUES ('default')")
    if lost & _LIMITS:
        teams.unlock(db)
        db.execute("UPDATE profiles SET settings = ?", (json.dumps(NO_SERVERS),))
        teams.begin_again(db)
        teams.lock(db)
    if "servers" in lost:
        db.execute("DELETE FROM tools")
        db.execute("DELETE FROM entries")
    # tools without a summary of their text are counted, judged and indexed anew
    db.execute("UPDATE summaries SET hash = ''")
    db.execute("DELETE FROM blobs")


def _mend_all(db: apsw.Connection, rows: Sequence[Damage]) -> None:
    """Mend damaged rows; a team's profiles come back with its next synchronisation."""
    teams.unlock(db)
    for row in rows:
        _mend(db, row)
    if any(row.table in ("profiles", "team_rows") for row in rows):
        teams.begin_again(db)
    teams.lock(db)


def _mend(db: apsw.Connection, row: Damage) -> None:
    """Make one damaged column what its readers take it for."""
    if row.table == "servers" and row.column == "spec":
        return  # the entry of a host's file brings it back; without one the rest is still there
    if row.table == "team_rows":  # the next synchronisation brings them back, from the beginning
        db.execute(
            "DELETE FROM team_rows WHERE NOT json_valid(body) OR json_type(body) != 'object'"
        )
    elif row.table in _DROPPED:
        db.execute(f"DELETE FROM {row.table} WHERE rowid = ?", (row.row,))
    elif row.table == "tools" and row.column == "raw":
        sql = (
            "UPDATE tools SET raw = json_object('name', name), hash = '', problem = ? WHERE id = ?"
        )
        db.execute(sql, (UNUSABLE, row.row))
    elif row.table == "tools":
        db.execute("UPDATE tools SET trusted_raw = '' WHERE id = ?", (row.row,))
    else:
        empty = json.dumps(_EMPTY.get(row.column, {}))
        if row.table == "server_sharing":
            empty = json.dumps([NOT_KNOWN])
        sql = f"UPDATE {row.table} SET {row.column} = ? WHERE rowid = ?"
        db.execute(sql, (empty, row.row))
    if row.table == "servers" and row.column in _TEXTS:
        sql = (
            "UPDATE servers SET instructions = '', prompts = '[]', resources = '[]',"
            " templates = '[]', server_info = '{}', list_hash = '' WHERE id = ?"
        )
        db.execute(sql, (row.row,))


def _salvage(path: str, copy: str) -> tuple[str, list[str]]:
    """Put the rows that can be read into a new database, which takes the old one's place."""
    new = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    with closing(open_store(new)) as db:
        lost = _take_rows(db, path)
        _after_loss(db, frozenset(lost))
        rows = list(damaged_rows(db))
        with transaction(db):
            _mend_all(db, rows)
        db.pragma("wal_checkpoint", "TRUNCATE")
        db.pragma("journal_mode", "delete")
    for suffix in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.replace(path + suffix, copy + suffix)
    os.replace(new, path)
    done = [f"The table {name} could not be read whole." for name in lost]
    return copy, ["The file was damaged; its readable rows are in a new one.", *done]


def _take_rows(db: apsw.Connection, path: str) -> list[str]:
    """Copy every table as far as it can be read; the tables that cannot be read whole."""
    lost = []
    db.pragma("foreign_keys", 0)
    with transaction(db), closing(apsw.Connection(path)) as old:
        db.execute("DELETE FROM profiles")
        for table in sorted(TABLES - _VIEWS - {"keywords"}):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            if not _copied(db, old, table, columns):
                lost.append(table)
        for table in sorted(TABLES - _VIEWS - {"keywords"}):
            if table in _UNNUMBERED:
                continue
            for row in db.execute(f"PRAGMA foreign_key_check({table})").fetchall():
                db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row[1],))
        db.execute("INSERT OR IGNORE INTO profiles (name) VALUES ('default')")
    db.pragma("foreign_keys", 1)
    return lost


def _copied(db: apsw.Connection, old: apsw.Connection, table: str, columns: list[str]) -> bool:
    """Copy a table's rows from the damaged store; True if all of them were copied."""
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    try:
        for row in old.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            db.execute(insert, row)
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.IOError):
        return False
    return True
