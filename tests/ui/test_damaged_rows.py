"""A value that no store should hold: its cell says so, the log has a line, the window goes on."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from ui.widgets.columns import Column
from ui.widgets.guarded import CANNOT, WHY
from ui.widgets.row_table import RowTable

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"


def drawn(script: str, tmp_path: Path, *words: str) -> list[str]:
    """Lines of a script that draws, in a process and a home of its own."""
    environ = {
        **os.environ,
        "HOME": str(tmp_path),
        "TOOLCRIB_HOME": str(tmp_path / "own"),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{FAKES}",
    }
    done = subprocess.run(
        [sys.executable, str(FAKES / script), *words],
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_every_model_is_guarded_and_draws_rows_of_any_kind(tmp_path: Path) -> None:
    lines = drawn("damaged_rows.py", tmp_path, str(tmp_path / "cache"))
    assert len(lines) >= 17 and all(line.startswith("drawn ") for line in lines), lines


def test_the_window_shows_a_damaged_store_page_by_page(tmp_path: Path) -> None:
    lines = drawn("damaged_window.py", tmp_path, "1")
    pages = [line.removeprefix("seen ") for line in lines if line.startswith("seen ")]
    assert pages == ["catalog", "playground", "budget", "review", "hosts", "activity"]
    logs = "".join(file.read_text() for file in (tmp_path / "own/logs").glob("toolcrib*.log"))
    assert "EventTable.data: OverflowError at text.py:" in logs
    assert json.loads(lines[-1]) == []


def test_a_cell_that_cannot_be_shown_says_so_and_the_log_has_one_line_without_its_value(
    qapp: object, caplog: pytest.LogCaptureFixture
) -> None:
    table: RowTable[str] = RowTable((Column("Number", lambda row: f"{int(row):,}"),))
    table.replace_rows(["1234", "private words"])
    with caplog.at_level(logging.ERROR, "toolcrib"):
        cells = [
            [table.index(row, 0).data(role) for row in (0, 1)]
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
        ]
    assert cells == [["1,234", CANNOT]] * 2
    (record,) = [one for one in caplog.records if "RowTable.data" in one.getMessage()]
    assert "ValueError at test_damaged_rows.py:" in record.getMessage()
    assert "private" not in record.getMessage() and "doctor --repair" in WHY
