"""Another version of the program meets the user's store: nothing is lost, nothing is half done."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from store import migrate
from store.connection import open_store
from tests.packaging.conftest import ROOT, outside

FIRST_SCHEMA = ROOT / "tests" / "data" / "store_v10.db.gz"
OFF = "SELECT tool_id, profile_id, reason FROM availability WHERE reason = 'disabled'"


def toolcrib(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed program, which is a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ui.main", *words],
        cwd=ROOT,
        env={**outside(home), "TOOLCRIB_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def fingerprint(folder: Path) -> dict[str, str]:
    """Each file below a folder with its sha256."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.parent.name != "logs")
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("words", [("footprint",), ("profile", "off", "x"), ("review",), ("scan",)])
def test_an_older_program_refuses_a_newer_store_and_leaves_it_as_it_is(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    db = open_store(tmp_path / "toolcrib.db")
    db.pragma("user_version", migrate.version(db) + 1)
    db.close()
    before = fingerprint(tmp_path)
    done = toolcrib(tmp_path, *words)
    assert done.returncode == 1
    assert "newer Toolcrib" in done.stderr and "Update" in done.stderr
    assert "Traceback" not in done.stderr
    assert fingerprint(tmp_path) == before


def test_an_upgrade_keeps_ticks_and_a_copy_of_the_old_store(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    old = gzip.decompress(FIRST_SCHEMA.read_bytes())
    path.write_bytes(old)
    done = toolcrib(tmp_path, "footprint", "--json")
    assert done.returncode == 0, done.stderr
    db = open_store(path)
    assert migrate.version(db) == migrate.steps()[-1][0] > 10
    assert db.execute(OFF).fetchall() != []
    db.close()
    kept = apsw.Connection(str(tmp_path / "toolcrib.db.v10.bak"))
    assert kept.pragma("user_version") == 10
    ours = apsw.Connection(str(path))
    ticks = "SELECT * FROM profile_tools ORDER BY 1, 2"
    names = {row[0] for row in kept.execute("SELECT name FROM sqlite_master")}
    assert "profile_tools" in names, sorted(names)
    width = len(kept.execute(ticks).fetchone())
    assert [row[:width] for row in ours.execute(ticks)] == kept.execute(ticks).fetchall()
    kept.close()
    ours.close()
