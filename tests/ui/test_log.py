"""The log window: Toolcrib's own log and each server's, filtered, followed, saved."""

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.server_logs import MOST_BYTES, add_lines, server_log
from ui.shell.log import show_log

FAKE = Path(__file__).parents[1] / "fakes" / "fake_server.py"
SECRET = "sup3r-s3cret-value-42"


@pytest.fixture
def parent(services, qtbot):
    services.ctx.paths.logs.mkdir(parents=True)
    (services.ctx.paths.logs / "toolcrib.log").write_text("one\ntwo tools\nthree\n")
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


def test_toolcribs_own_log_is_filtered_and_saved(services, parent, tmp_path):
    log = show_log(parent, services)
    assert log.view.toPlainText() == "one\ntwo tools\nthree"
    log.filter.setText("TOOLS")
    assert log.view.toPlainText() == "two tools"
    assert log.count.text() == "1 of 3 lines"
    log._save()
    dialog = log.findChild(QFileDialog, "saveFile")
    dialog.fileSelected.emit(str(tmp_path / "kept.log"))
    dialog.reject()
    assert (tmp_path / "kept.log").read_text() == "two tools\n"
    log.filter.setText("nowhere")
    assert log.view.placeholderText() == "No line contains these words."
    log.reject()


def test_new_lines_are_followed_until_that_is_switched_off(services, parent, qtbot):
    log = show_log(parent, services)
    file = services.ctx.paths.logs / "toolcrib.log"
    file.write_text("one\nfour\n")
    qtbot.waitUntil(lambda: log.view.toPlainText() == "one\nfour", timeout=5_000)
    log.follow.setChecked(False)
    file.write_text("five\n")
    log.follow.setChecked(True)
    assert log.view.toPlainText() == "five"
    log.reject()


def test_a_servers_log_has_its_messages_and_what_it_printed_without_secrets(
    places, open_window, qtbot
):
    file = places.home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    printing = f"import sys; print('starting with {SECRET}', file=sys.stderr)"
    script = f"{printing}; sys.argv = ['x']; exec(open({str(FAKE)!r}).read())"
    entry = {
        "command": sys.executable,
        "args": ["-c", script],
        "env": {"API_TOKEN": SECRET, "FAKE_MODE": "tools=2"},
    }
    file.write_text(json.dumps({"mcpServers": {"one": entry}}), encoding="utf-8")
    window = open_window()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: reading.model.rowCount() == 1, timeout=20_000)
    window.catalog.primary()
    qtbot.waitUntil(lambda: reading.model.rows[0].status == "read", timeout=30_000)
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    window.catalog.primary()
    window.catalog.show_server("one")
    details = window.catalog.content.details
    qtbot.waitUntil(lambda: not details.log.isHidden(), timeout=20_000)
    details.log.click()
    log = window.findChild(QWidget, "log")
    text = log.view.toPlainText()
    assert '-> {"jsonrpc":"2.0"' in text and '"method":"tools/list"' in text
    assert "<- {" in text and " stderr starting with ••••" in text
    assert text.splitlines()[-1].endswith("-- read, 2 tools.")
    assert SECRET not in text
    assert SECRET not in server_log(window.services.ctx.paths.logs, "one").read_text()
    log.reject()


def test_a_servers_log_is_bounded_private_and_stays_in_its_folder(tmp_path):
    add_lines(tmp_path, "../etc/passwd", ["x" * 1_000] * 600)
    file = server_log(tmp_path, "../etc/passwd")
    assert file.parent == tmp_path / "servers"
    assert file.stat().st_size <= MOST_BYTES and file.stat().st_mode & 0o077 == 0
    add_lines(tmp_path, "../etc/passwd", ["last"])
    assert file.read_text().endswith("x\nlast\n")
    assert server_log(tmp_path, "a/b") != server_log(tmp_path, "a_b")
