"""Finding servers and reading their tools: consent, progress, faults, cancel, sample data."""

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from store import records
from ui.pages.catalog.reading_table import SERVER, STATUS, ReadingTable
from ui.pages.catalog.server_work import Candidate

FAKE = Path(__file__).parents[1] / "fakes" / "fake_server.py"
CHECK = Qt.ItemDataRole.CheckStateRole


def entry(mode: str, **env: str) -> dict:
    return {
        "command": sys.executable,
        "args": ["-S", "-E", str(FAKE)],
        "env": {"FAKE_MODE": mode, **env},
    }


@pytest.fixture
def hosts(places):
    """Writes what Claude Desktop and a project's .mcp.json name; tells the files."""

    def write(user: dict, cursor: dict | None = None) -> list[Path]:
        files = {places.home / ".config/Claude/claude_desktop_config.json": user}
        if cursor is not None:
            files[places.home / ".cursor/mcp.json"] = cursor
        for file, servers in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return list(files)

    return write


def rows(window) -> dict[str, str]:
    model = window.catalog.reading.model
    return {
        model.index(r, model.place(SERVER)).data(): model.index(r, model.place(STATUS)).data()
        for r in range(model.rowCount())
    }


def test_looking_starts_nothing_and_changes_no_file(hosts, open_window, tmp_path, qtbot):
    log = tmp_path / "started.log"
    files = hosts({"one": entry("tools=3", FAKE_LOG=str(log))})
    before = [(f.read_bytes(), f.stat().st_mtime_ns) for f in files]
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    qtbot.waitUntil(lambda: window.tasks.idle)
    assert window.catalog.state == "reading"
    assert rows(window) == {"one": "Will be read"}
    assert not log.exists()
    assert [(f.read_bytes(), f.stat().st_mtime_ns) for f in files] == before


def test_before_anything_is_read_no_verdict_is_shown(hosts, open_window, qtbot):
    hosts({"one": entry("tools=3")})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)
    strip = window.strip
    assert (strip.total.text(), strip.on.text()) == ("Nothing is read yet", "")
    assert strip.badge.isHidden() and "PASS" not in strip.accessibleName()
    window.open_page("budget")
    moves = window.page.moves
    qtbot.waitUntil(lambda: moves.headline.text() == "Nothing is read yet", timeout=20_000)
    assert "Within the budget" not in moves.evidence.text() and not moves.through.isVisible()
    window.open_page("catalog")
    window.catalog.primary()
    qtbot.waitUntil(lambda: not window.catalog.reading.busy, timeout=60_000)
    qtbot.waitUntil(lambda: strip.badge.isVisible() and strip.verdict.tokens > 0, timeout=20_000)
    assert strip.total.text() == f"{strip.verdict.tokens:,} tokens ≈"


def test_the_exact_command_is_shown_with_credentials_masked(hosts, open_window, qtbot):
    secret = "sk-abcdefghijklmnop1234"
    server = entry("tools=1")
    server["args"] = [*server["args"], "--api-key", secret]
    hosts({"one": server})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    model = window.catalog.reading.model
    texts = [str(model.index(0, c).data()) for c in range(model.columnCount())]
    assert any(str(FAKE) in text and "--api-key" in text for text in texts)
    assert secret not in " ".join(texts)


def test_enter_twice_leads_from_consent_to_the_catalogue(hosts, open_window, qtbot):
    hosts({"alpha": entry("tools=4"), "beta": entry("tools=2")}, {"alpha": entry("tools=4")})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    assert window.catalog.reading.title.text() == "Found 2 servers in 2 hosts"
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    assert window.focusWidget().objectName() == "cancelRead"
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: not reading.busy, timeout=60_000)
    assert reading.title.text() == "2 of 2 servers read"
    assert set(rows(window).values()) == {"Read 4 tools", "Read 2 tools"}
    qtbot.waitUntil(lambda: reading.sum.text().endswith(" tokens ≈ in all servers together"))
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    assert window.catalog.state == "content"
    qtbot.waitUntil(lambda: window.strip.verdict.tokens > 0)
    qtbot.waitUntil(lambda: window.strip.on.text() == "6 tools, as is")
    assert "of a 200k window" in window.catalog.messages.text


def test_faults_are_rows_and_what_was_read_stays(hosts, open_window, qtbot):
    gone = {"command": "/nonexistent/server", "args": []}
    dies = {"command": "/bin/sh", "args": ["-c", "echo no token here >&2; exit 3"]}
    hosts({"good": entry("tools=2"), "gone": gone, "dies": dies})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    window.catalog.primary()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: not reading.busy, timeout=60_000)
    assert "1 of 3 servers read" in reading.title.text(), window.catalog.messages.text
    assert rows(window) == {
        "good": "Read 2 tools",
        "gone": "Could not start",
        "dies": "Could not start",
    }
    assert reading.reason.isVisible()
    problems = {r.candidate.name: r.problem for r in reading.model.rows}
    assert "3" in problems["dies"] and "no token here" in problems["dies"]
    window.catalog.primary()
    model = window.catalog.content.model
    # the catalogue is read in the background
    qtbot.waitUntil(lambda: model.rowCount() == 3, timeout=20_000)
    on_top = {"gone", "dies"}  # what needs attention
    qtbot.waitUntil(lambda: {model.index(r, 0).data() for r in range(2)} == on_top, timeout=20_000)


def test_cancel_stops_at_once_and_offers_another_try(hosts, open_window, qtbot):
    hosts({"hangs": {"command": "sleep", "args": ["600"]}})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    reading = window.catalog.reading
    window.catalog.primary()
    qtbot.waitUntil(lambda: rows(window)["hangs"].startswith("Reading"), timeout=30_000)
    reading.stop.click()
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    assert reading.title.text() == "Stopped. 0 of 1 server read"
    assert rows(window) == {"hangs": "Stopped"}
    assert reading.go.text() == "Try again" and reading.go.isEnabled()


def test_after_cancel_the_remaining_servers_are_read_without_asking_again(
    hosts, open_window, tmp_path, qtbot
):
    gate = tmp_path / "gate"
    waits = f"while [ ! -e {gate} ]; do read -t 0.05 _ <> <(:); done; exec {sys.executable} {FAKE}"
    hosts({"a": entry("tools=2"), "b": {"command": "bash", "args": ["-c", waits]}})
    window = open_window()
    qtbot.waitUntil(lambda: len(rows(window)) == 2, timeout=20_000)
    reading = window.catalog.reading
    window.catalog.primary()
    qtbot.waitUntil(
        lambda: rows(window)["a"] == "Read 2 tools" and rows(window)["b"].startswith("Reading"),
        timeout=30_000,
    )
    assert reading.rest.isHidden()
    reading.stop.click()
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    assert reading.rest.text() == "Read the remaining 1" and reading.rest.isVisible()
    gate.touch()
    reading.rest.click()
    qtbot.waitUntil(lambda: rows(window)["b"].startswith("Read "), timeout=30_000)
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    assert rows(window)["a"] == "Read 2 tools" and reading.rest.isHidden()


def test_read_again_asks_only_where_the_command_is_another_one(hosts, open_window, tmp_path, qtbot):
    log = tmp_path / "started.log"
    hosts({"one": entry("tools=2", FAKE_LOG=str(log))})
    window = open_window()
    catalog, reading = window.catalog, window.catalog.reading
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    catalog.primary()
    qtbot.waitUntil(lambda: rows(window)["one"] == "Read 2 tools", timeout=30_000)
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    catalog.primary()
    qtbot.waitUntil(lambda: window.live.catalog.server("one") is not None, timeout=20_000)
    server = window.live.catalog.server("one")
    before = log.stat().st_mtime_ns
    catalog.content.read_requested.emit([server.id])
    qtbot.waitUntil(lambda: log.stat().st_mtime_ns > before, timeout=30_000)
    qtbot.waitUntil(lambda: rows(window)["one"] == "Read 2 tools", timeout=30_000)
    qtbot.waitUntil(lambda: not reading.busy, timeout=20_000)
    assert reading.go.text() == "Continue" and reading.skip.isHidden(), "one way to the catalog"
    reading.go.click()
    before = log.stat().st_mtime_ns
    hosts({"one": entry("tools=3", FAKE_LOG=str(log))})  # another command: to be agreed to
    catalog.content.read_requested.emit([server.id])
    qtbot.waitUntil(lambda: reading.go.text() == "Read tools of 1 server", timeout=20_000)
    assert not reading.busy and log.stat().st_mtime_ns == before


def test_closing_the_window_while_servers_are_read_leaves_nothing(hosts, open_window, qtbot):
    hosts({"hangs": {"command": "sleep", "args": ["600"]}})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    window.catalog.primary()
    qtbot.waitUntil(lambda: rows(window)["hangs"].startswith("Reading"), timeout=30_000)
    window.close()


def test_without_hosts_sample_data_leads_to_a_table(open_window, qtbot):
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "empty", timeout=20_000)
    assert [b.text() for b in window.catalog.empty.buttons] == [
        "Open a config file…",
        "Add a server…",
        "Try with sample data",
        "Find servers…",
    ]
    window.catalog.empty.buttons[2].click()
    qtbot.waitUntil(lambda: len(rows(window)) == 7, timeout=20_000)
    assert window.catalog.reading.go.text() == "Read tools of 7 servers"


def test_a_file_that_cannot_be_used_says_why(open_window, tmp_path, qtbot):
    bad = tmp_path / "bad.json"
    bad.write_text('{"mcpServers": ', encoding="utf-8")
    window = open_window()
    window.catalog.take_file(bad)
    qtbot.waitUntil(lambda: window.catalog.messages.text != "", timeout=20_000)
    assert "not valid JSON, line 1" in window.catalog.messages.text


def test_reading_again_ticks_only_that_server(fill, hosts, open_window, qtbot):
    hosts({"alpha": entry("tools=1"), "beta": entry("tools=2")})
    fill()
    window = open_window()
    window.catalog.read_tools()
    qtbot.waitUntil(lambda: "alpha" in rows(window), timeout=20_000)
    model = window.catalog.reading.model
    one = next(r.candidate.server_id for r in model.rows if r.candidate.name == "beta")
    window.catalog.read_tools(frozenset({one}))
    qtbot.waitUntil(lambda: model.chosen == (one,), timeout=20_000)
    assert window.catalog.reading.go.text() == "Read tools of 1 server"
    window.catalog.reading.skip.click()
    assert window.catalog.state == "content"


def test_escape_leaves_consent_and_the_row_in_question_is_what_would_run(
    fill, hosts, open_window, qtbot
):
    hosts({"alpha": entry("tools=1"), "beta": entry("tools=2")})
    fill()
    window = open_window()
    page, reading = window.catalog, window.catalog.reading
    page.read_tools()
    qtbot.waitUntil(lambda: "alpha" in rows(window), timeout=20_000)
    one = next(r.candidate.server_id for r in reading.model.rows if r.candidate.name == "beta")
    page.read_tools(frozenset({one}))
    qtbot.waitUntil(lambda: reading.model.chosen == (one,), timeout=20_000)
    assert reading.model.rows[reading.table.currentIndex().row()].candidate.name == "beta"
    page.messages.clear()
    assert page.escape()
    assert page.state == "content"
    assert not page.messages.text  # nothing was read: there is no next step to tell


@pytest.fixture
def table(qapp) -> ReadingTable:
    table = ReadingTable({"cursor": "Cursor"})
    table.show(
        (
            Candidate(1, "files", ("cursor",), False, "npx files", ticked=True),
            Candidate(2, "team", ("cursor",), True, "node tools.js", ticked=False),
            Candidate(3, "none", ("cursor",), False, "", ticked=False, problem="No command."),
        )
    )
    return table


def picture(table: ReadingTable) -> list[str]:
    marks = {Qt.CheckState.Checked: "[x]", Qt.CheckState.Unchecked: "[ ]", None: "   "}
    return [
        f"{marks[table.index(r, 0).data(CHECK)]} "
        + " | ".join(str(table.index(r, c).data()) for c in range(table.columnCount()))
        for r in range(table.rowCount())
    ]


def test_project_servers_are_not_ticked_and_say_so(table: ReadingTable, qtmodeltester):
    assert picture(table) == [
        "[x] files | Cursor | npx files | Will be read |  | ",
        "[ ] team | Cursor (project: tick if you trust it) | node tools.js | Not ticked |  | ",
        "    none | Cursor | No command. | Cannot be started |  | ",
    ]
    qtmodeltester.check(table)


def test_ticks_change_until_reading_begins(table: ReadingTable):
    assert table.setData(table.index(1, 0), Qt.CheckState.Checked.value, CHECK)
    assert table.chosen == (1, 2)
    assert not table.setData(table.index(2, 0), Qt.CheckState.Checked.value, CHECK)
    table.begin()
    assert not table.setData(table.index(0, 0), Qt.CheckState.Unchecked.value, CHECK)
    table.unlock()
    assert table.setData(table.index(0, 0), Qt.CheckState.Unchecked.value, CHECK)


def test_statuses_in_words(table: ReadingTable):
    table.begin()
    table.set_status(1, records.READING, problem="", tools=0, now=100.0)
    table.show_time(106.4)
    assert table.index(0, table.place(STATUS)).data() == "Reading 6 s"
    table.set_status(1, records.READ, problem="", tools=41, now=107.0)
    table.set_tokens({1: 23_800})
    assert picture(table)[0] == "[x] files | Cursor | npx files | Read 41 tools | 41 | 23,800"
    table.set_status(2, records.TOOK_TOO_LONG, problem="60 s without progress", tools=0, now=1.0)
    said = table.index(1, table.place(STATUS)).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "Took too long: 60 s without progress"


def test_consent_shows_all_that_runs_below_the_table(hosts, open_window, qtbot):
    payload = "API_KEY=sk-abcdefghijklmnop1234; " + "true; " * 60 + "touch PWNED\x1b[2K"
    evil = {"command": "sh", "args": ["-c", payload], "env": {"NODE_OPTIONS": "-r ./x", "A": "b"}}
    hosts({"evil": evil})
    window = open_window()
    qtbot.waitUntil(lambda: bool(rows(window)), timeout=20_000)
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: "PWNED" in reading.reason.text(), timeout=20_000)
    assert "\x1b" not in reading.reason.text()
    assert "sets NODE_OPTIONS, which can change what runs" in reading.reason.text()
    assert "sk-abcdefghijklmnop1234" not in reading.reason.text()
    # all of it is laid out: nothing ends in an ellipsis
    assert reading.reason.document().size().height() > 1
    assert reading.reason.height() >= reading.reason.fontMetrics().lineSpacing()
    bar = reading.reason.verticalScrollBarPolicy
    reading.reason.setText("short")
    assert bar() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    reading.reason.setText("a line\n" * 20)
    assert bar() == Qt.ScrollBarPolicy.ScrollBarAsNeeded
