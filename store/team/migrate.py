"""Numbered migrations of the team's database (alembic, plain SQL), all in one transaction.

Each step is `versions/vNNNN_name.py` beside `versions/NNNN_name.sql`. A step that fails leaves the
schema as it was; of two processes that migrate at once the second waits and finds nothing to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy
from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from store.team.connecting import connect

FOLDER = Path(__file__).parent / "migrations"
LOCK = 7_305_131_207  # advisory lock of those who migrate
_PREPARE = """
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
SET LOCAL search_path = toolcrib, public;
"""


def migrate(dsn: str, folder: Path = FOLDER) -> None:
    """Bring the database to the newest schema; raises what Postgres refuses, changing nothing."""
    with _connected(dsn) as connection:
        config = _config(folder)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()


def newest(folder: Path = FOLDER) -> str:
    """The number of the last step that this program knows."""
    return ScriptDirectory.from_config(_config(folder)).get_current_head() or ""


def version(dsn: str) -> str:
    """The number of the last step that the database has, "" before the first."""
    with _connected(dsn) as connection:
        made = {"version_table_schema": "toolcrib"}
        return MigrationContext.configure(connection, opts=made).get_current_revision() or ""


@contextmanager
def _connected(dsn: str) -> Iterator[sqlalchemy.Connection]:
    driver = connect(dsn)  # here, as SQLAlchemy puts errors of its own over psycopg's
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: driver, poolclass=sqlalchemy.NullPool
    )
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def prepare(connection: sqlalchemy.Connection) -> None:
    """Make what every step needs: the schema, extensions and the role of members."""
    _execute(connection, _PREPARE)


def run_sql(name: str) -> None:
    """Execute a file beside the steps, in the transaction of all."""
    scripts = op.get_context().script
    folder = Path(scripts.dir if scripts else FOLDER) / "versions"
    _execute(op.get_bind(), (folder / name).read_text(encoding="utf-8"))


def _execute(connection: sqlalchemy.Connection, sql: str) -> None:
    """Several statements at once, without SQLAlchemy's reading of colons and percent signs."""
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute(sql)


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
