import gzip
import os
import shutil
import stat
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from store import findings, migrate, search
from store.connection import data_version, load_vec0, open_store, transaction
from store.errors import (
    DamagedStoreError,
    LockedStoreError,
    NewerStoreError,
    OlderStoreError,
    ReadOnlyStoreError,
)

VERSION_10 = Path(__file__).parents[1] / "data" / "store_v10.db.gz"


def test_a_new_store_is_private_and_at_the_newest_version(tmp_path: Path) -> None:
    path = tmp_path / "home" / "toolcrib.db"
    db = open_store(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert migrate.version(db) == migrate.steps()[-1][0]
    db.close()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    open_store(path).close()
    before = path.read_bytes()
    open_store(path).close()
    assert path.read_bytes() == before


def test_a_newer_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    db = open_store(path)
    db.pragma("user_version", 999)
    db.close()
    with pytest.raises(NewerStoreError) as caught:
        open_store(path)
    assert "newer Toolcrib" in caught.value.title
    assert "Update" in caught.value.hint


def test_a_damaged_file_says_so_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    path.write_bytes(b"this is not a database, it is a letter" * 100)
    before = path.read_bytes()
    with pytest.raises(DamagedStoreError):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_folder_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(ReadOnlyStoreError):
        open_store(folder / "toolcrib.db")


def test_a_read_only_connection_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    open_store(path).close()
    db = open_store(path, read_only=True)
    with pytest.raises(ReadOnlyStoreError), transaction(db):
        db.execute("DELETE FROM profiles")
    db.close()


def test_a_locked_file_says_so_after_the_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    first, second = open_store(path), open_store(path, timeout_ms=50)
    with transaction(first), pytest.raises(LockedStoreError), transaction(second):
        pass
    first.close()
    second.close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    db = open_store(tmp_path / "toolcrib.db")
    with pytest.raises(ZeroDivisionError), transaction(db):
        db.execute("INSERT INTO profiles (name) VALUES ('x')")
        raise ZeroDivisionError
    assert db.execute("SELECT count(*) FROM profiles").fetchone() == (1,)
    db.close()


def test_migrating_makes_a_copy_first_and_records_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(migrate._FOLDER, folder)
    path = tmp_path / "toolcrib.db"
    db = open_store(path)
    newest = migrate.version(db)
    db.close()
    (folder / f"{newest + 1:04d}_more.sql").write_text("CREATE TABLE more (x INTEGER) STRICT;")
    monkeypatch.setattr(migrate, "_FOLDER", str(folder))
    db = open_store(path)
    assert migrate.version(db) == newest + 1
    db.close()
    copy = apsw.Connection(str(tmp_path / f"toolcrib.db.v{newest}.bak"))
    assert copy.pragma("user_version") == newest
    copy.close()


def test_the_copy_holds_what_a_gateway_that_reads_keeps_in_the_write_ahead_log(
    written_by_f523704: Path,
) -> None:
    old, reading = (apsw.Connection(str(written_by_f523704)) for _ in range(2))
    old.pragma("journal_mode", "wal")
    old.execute("INSERT INTO profiles (name) VALUES ('before')")
    reading.execute("BEGIN")
    assert reading.execute("SELECT count(*) FROM profiles").fetchone()  # a snapshot, held open
    old.execute("INSERT INTO profiles (name) VALUES ('last')")
    db = open_store(written_by_f523704)
    with closing(apsw.Connection(f"{written_by_f523704}.v10.bak")) as copy:
        assert copy.pragma("user_version") == 10
        assert copy.pragma("integrity_check") == "ok"
        assert ("last",) in copy.execute("SELECT name FROM profiles").fetchall()
    for one in (db, reading, old):
        one.close()


def test_a_migration_that_fails_leaves_the_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(migrate._FOLDER, folder)
    path = tmp_path / "toolcrib.db"
    db = open_store(path)
    newest = migrate.version(db)
    db.close()
    bad = folder / f"{newest + 1:04d}_bad.sql"
    bad.write_text("CREATE TABLE half (x INTEGER) STRICT; CREATE TABLE half (y INTEGER) STRICT;")
    monkeypatch.setattr(migrate, "_FOLDER", str(folder))
    with pytest.raises(apsw.SQLError):
        open_store(path)
    raw = apsw.Connection(str(path))
    assert raw.pragma("user_version") == newest
    assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    raw.close()


@pytest.mark.parametrize("attempt", range(25))  # a race: once in twenty it went wrong
def test_two_processes_may_create_the_store_at_once(tmp_path: Path, attempt: int) -> None:
    path = tmp_path / "toolcrib.db"
    problems: list[BaseException] = []

    def create() -> None:
        try:
            open_store(path).close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_data_version_tells_that_another_connection_committed(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    first, second = open_store(path), open_store(path)
    before = data_version(first)
    with transaction(second):
        second.execute("INSERT INTO profiles (name) VALUES ('x')")
    assert data_version(first) != before
    first.close()
    second.close()


def test_vec0_loads_and_extension_loading_is_closed_again(tmp_path: Path) -> None:
    db = open_store(tmp_path / "toolcrib.db")
    load_vec0(db)
    assert str(db.execute("SELECT vec_version()").fetchone()[0]).startswith("v0.1")
    with pytest.raises(apsw.SQLError):
        db.execute("SELECT load_extension('x')")
    db.close()


@pytest.fixture
def written_by_f523704(tmp_path: Path) -> Path:
    """A store with a row in each table, written by the migrations of commit f523704."""
    path = tmp_path / "toolcrib.db"
    path.write_bytes(gzip.decompress(VERSION_10.read_bytes()))
    return path


def rows(db: apsw.Connection) -> dict[str, list[tuple]]:
    """Every row of every table that both have; the keyword index is left out."""
    names = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if not name.startswith("keywords")
    ]
    return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def test_a_store_of_the_first_schema_keeps_every_row(written_by_f523704: Path) -> None:
    old = apsw.Connection(str(written_by_f523704))
    assert old.pragma("user_version") == migrate.steps()[0][0] == 10
    before = rows(old)
    old.close()
    assert len(before) >= 18 and all(before.values())
    db = open_store(written_by_f523704)
    assert migrate.version(db) == migrate.steps()[-1][0]
    after = rows(db)
    for name, kept in before.items():
        width = len(kept[0])  # later migrations may have added columns
        assert [row[:width] for row in after[name]] == kept, name
    for word in ("money", "amounts", "bank", "rent"):
        assert search.keyword_scores(db, [word]).keys() == {7}
    assert findings.blocked(db) == frozenset()
    assert {(r[0], r[1], r[4]) for r in db.execute("SELECT * FROM availability")} == {
        (7, 1, "disabled"), (7, 2, "disabled")
    }  # fmt: skip
    db.close()


def test_an_upgraded_store_has_the_schema_of_a_new_one(
    written_by_f523704: Path, tmp_path: Path
) -> None:
    sql = (
        'SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk'
        " FROM sqlite_master m, pragma_table_xinfo(m.name) c ORDER BY m.name, c.cid"
    )
    views = "SELECT name, sql FROM sqlite_master WHERE type IN ('view', 'index') AND sql != ''"
    new, old = open_store(tmp_path / "new.db"), open_store(written_by_f523704)
    assert old.execute(sql).fetchall() == new.execute(sql).fetchall()

    def texts(db: apsw.Connection) -> dict[str, str]:
        return {name: " ".join(text.split()) for name, text in db.execute(views)}

    assert texts(old) == texts(new) != {}
    new.close()
    old.close()


def test_a_store_from_before_the_first_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute("CREATE TABLE tools (id INTEGER)")
    db.pragma("user_version", 9)
    db.close()
    before = path.read_bytes()
    with pytest.raises(OlderStoreError) as caught:
        open_store(path)
    assert "version 9" in caught.value.title and "toolcrib scan" in caught.value.hint
    assert path.read_bytes() == before
