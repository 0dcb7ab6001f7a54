"""Migrations of the team's database: ordered, locked, and without effect where one fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from store.errors import NewerStoreError
from store.team import members, organisations
from store.team.connecting import as_member, as_owner, open_pool
from store.team.migrate import FOLDER, migrate, newest, version
from tests.fakes.team_kit import fresh_database


def with_a_step(folder: Path, sql: str) -> Path:
    copied = folder / "migrations"
    shutil.copytree(FOLDER, copied)
    (copied / "9999_next.sql").write_text(sql)
    return copied


def test_migrating_twice_changes_nothing(dsn: str) -> None:
    assert version(dsn) == newest()
    migrate(dsn)
    assert version(dsn) == newest()


def test_of_two_that_migrate_at_once_both_succeed(postgres) -> None:
    with fresh_database(postgres, empty=True) as dsn:
        code = f"from store.team.migrate import migrate; migrate({dsn!r})"
        started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
        assert [process.wait(60) for process in started] == [0, 0]
        assert version(dsn) == newest()


def test_a_migration_that_fails_leaves_the_old_schema_working(postgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as dsn:
        folder = with_a_step(
            tmp_path, "ALTER TABLE servers ADD extra int; DROP TABLE audit; SELECT 1 / 0;"
        )
        with pytest.raises(Exception, match="division by zero"):
            migrate(dsn, folder)
        assert version(dsn) == newest()
        pool = open_pool(dsn)
        try:
            with as_owner(pool) as db:
                member = members.add(db, organisations.create(db, "a").id, "ada", "admin")
            with as_member(pool, member) as db:
                assert db.execute("SELECT count(*) FROM audit").fetchone() == (1,)
        finally:
            pool.close()


def test_a_step_that_works_is_applied(postgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as dsn:
        migrate(dsn, with_a_step(tmp_path, "CREATE TABLE more (percent text DEFAULT '5 %:x');"))
        assert version(dsn) == "9999"
        with pytest.raises(NewerStoreError, match=r"schema 9999, known: \d{4}"):
            migrate(dsn)


def test_a_database_of_a_build_with_alembic_goes_on_from_its_step(postgres, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    shutil.copy(FOLDER / "0001_first.sql", first)
    with fresh_database(postgres, empty=True) as dsn:
        migrate(dsn, first)
        with psycopg.connect(dsn) as db:  # as alembic makes it
            db.execute("DROP TABLE toolcrib.alembic_version")
            db.execute(
                "CREATE TABLE toolcrib.alembic_version (version_num VARCHAR(32) NOT NULL,"
                " CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));"
                "INSERT INTO toolcrib.alembic_version VALUES ('0001')"
            )
        migrate(dsn)
        assert version(dsn) == newest()


def test_every_table_keeps_organisations_apart(dsn: str) -> None:
    """A table without row-level security, or without a policy, is found here."""
    with psycopg.connect(dsn) as db:
        rows = db.execute(
            "SELECT c.relname, c.relrowsecurity,"
            " EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid)"
            " FROM pg_class c WHERE c.relnamespace = 'toolcrib'::regnamespace"
            " AND c.relkind IN ('r', 'p') AND c.relname <> 'alembic_version'"
        ).fetchall()
    assert len(rows) > 20
    assert [name for name, secured, has_policy in rows if not (secured and has_policy)] == []
