import os
import shutil
import stat
import threading
from pathlib import Path

import apsw
import pytest

from store import findings, migrate, queries, search, tools
from store.connection import data_version, load_vec0, open_store, transaction
from store.errors import (
    DamagedStoreError,
    LockedStoreError,
    NewerStoreError,
    ReadOnlyStoreError,
)
from store.records import LabelRecord


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


def test_words_are_found_after_the_keyword_index_got_its_field_for_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    for number, file in migrate.steps()[:5]:
        shutil.copy(file, folder / f"{number:04d}.sql")
    path = tmp_path / "toolcrib.db"
    with monkeypatch.context() as older:
        older.setattr(migrate, "_FOLDER", str(folder))
        db = open_store(path)
        db.execute("INSERT INTO servers (id, name, spec_key, spec) VALUES (1, 'bank', 'k', '{}')")
        raw = '{"name": "send_money", "description": "moves an amount"}'
        db.execute(
            "INSERT INTO tools (id, server_id, name, position, raw, hash, trusted_hash, first_seen,"
            " last_seen) VALUES (7, 1, 'send_money', 0, ?, 'h', 'h', 0, 0)",
            (raw,),
        )
        db.execute("INSERT INTO summaries VALUES (7, 'send money', 'made', 'h')")
        db.close()
    db = open_store(path)
    for word in ("money", "amounts", "bank"):
        assert search.keyword_scores(db, [word]).keys() == {7}
    assert tools.summaries(db)[7].hash == ""  # so the next reading indexes it anew
    db.close()


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


def test_a_store_of_version_2_keeps_its_tools_and_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "toolcrib.db"
    known = migrate.steps()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "steps", lambda: known[:2])
        db = open_store(path)
    db.execute(
        "INSERT INTO servers (id, name, spec_key, spec, trusted) VALUES (1, 's', 'k', '{}', 1);"
        "INSERT INTO tools (id, server_id, name, position, raw, hash, trusted_hash, first_seen,"
        " last_seen) VALUES (1, 1, 't', 0, '{}', 'new', 'old', 1, 2);"
        "INSERT INTO findings (tool_id, rule, severity, detail, hash, decided)"
        " VALUES (1, 'PI-01', 'block', 'x', 'new', 'approved')"
    )
    db.close()
    db = open_store(path)
    (tool,) = tools.tools(db)
    assert (tool.hash, tool.trusted_hash, tool.trusted_raw) == ("new", "old", None)
    (finding,) = findings.all_findings(db)
    assert (finding.decided, finding.found_at) == ("approved", 0.0)
    assert findings.blocked(db) == frozenset()
    db.close()


def test_a_store_of_version_3_forgets_what_was_learned_and_keeps_the_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrate.steps()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "steps", lambda: known[:3])
        db = open_store(tmp_path / "toolcrib.db")
        with transaction(db):
            queries.save_blob(db, "past use", fingerprint="m:1:24", data=b"old", at=1.0)
            queries.save_blob(db, "something else", fingerprint="m", data=b"kept", at=1.0)
            queries.save_labels(db, [LabelRecord(0, "ping", ("slack/post",), "typed", 1.0)])
        db.close()
    db = open_store(tmp_path / "toolcrib.db")
    assert queries.blob(db, "past use") is None
    assert queries.blob(db, "something else") == ("m", b"kept")
    assert [label.query for label in queries.labels(db)] == ["ping"]
    db.close()
