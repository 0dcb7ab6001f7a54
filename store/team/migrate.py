"""Numbered migrations of the team's database, all that it lacks in one transaction.

A step that fails leaves the schema as it was; of two processes that migrate at once the second
waits and finds nothing to do.
"""

from pathlib import Path

from store.errors import NewerStoreError
from store.migrate import steps
from store.team.connecting import Connection, connect

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 7_305_131_207  # advisory lock of those who migrate
_TABLE = "toolcrib.alembic_version"  # databases of earlier builds have their number there
_PREPARE = f"""
SELECT pg_advisory_xact_lock({_LOCK});
CREATE SCHEMA IF NOT EXISTS toolcrib;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
DO $$ BEGIN
    CREATE ROLE toolcrib_member NOLOGIN NOBYPASSRLS NOSUPERUSER;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('GRANT toolcrib_member TO %I', current_user);
END $$;
CREATE TABLE IF NOT EXISTS {_TABLE} (version_num varchar(32) PRIMARY KEY);
SET LOCAL search_path = toolcrib, public;
"""


def migrate(dsn: str, folder: Path = FOLDER) -> None:
    """Bring the database to the newest schema; raises what Postgres refuses, changing nothing."""
    with connect(dsn) as db:
        db.execute(_PREPARE)
        before, known = _version(db), newest(folder)
        if before > known:
            raise NewerStoreError(
                f"The database was written by a newer Toolcrib (schema {before}, known: {known}).",
                "Update Toolcrib.",
            )
        for number, file in steps(folder):
            if _text(number) > before:
                db.execute(Path(file).read_text(encoding="utf-8"))
        db.execute(f"DELETE FROM {_TABLE}")
        db.execute(f"INSERT INTO {_TABLE} VALUES (%s)", (known,))


def newest(folder: Path = FOLDER) -> str:
    """The number of the last step that this program knows."""
    return _text(steps(folder)[-1][0])


def version(dsn: str) -> str:
    """The number of the last step that the database has, "" before the first."""
    with connect(dsn) as db:
        made = db.execute("SELECT to_regclass(%s)", (_TABLE,)).fetchone()
        return _version(db) if made and made[0] else ""


def _version(db: Connection) -> str:
    row = db.execute(f"SELECT version_num FROM {_TABLE}").fetchone()
    return str(row[0]) if row else ""


def _text(number: int) -> str:
    return f"{number:04d}"
