"""Servers of Toolcrib's own can be taken out of the catalog again, samples too."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.hosts.launch import STDIO, LaunchSpec
from app.hosts.reading import read_hosts
from app.registry.importing import add_server, import_file
from app.registry.register import register
from store import servers
from ui.pages.catalog.add_server import AddServerDialog


@pytest.fixture
def window(ctx, places, open_window, tmp_path, qtbot):
    """One server by hand, two of one file (as the samples), one that Cursor names."""
    ctx.paths.create()
    db = ctx.open_store()
    add_server(ctx, db, "mine", LaunchSpec(STDIO, command="uvx", args=("mine",)))
    file = tmp_path / "sample.json"
    file.write_text(
        json.dumps({"mcpServers": {n: {"command": "uvx", "args": [n]} for n in ("one", "two")}})
    )
    import_file(ctx, db, file)
    cursor = places.home / ".cursor/mcp.json"
    cursor.parent.mkdir(parents=True)
    cursor.write_text(json.dumps({"mcpServers": {"theirs": {"command": "uvx", "args": ["x"]}}}))
    register(ctx, db, read_hosts(places))
    for record in servers.all_servers(db):
        servers.set_status(db, record.id, "read")
        db.execute("UPDATE servers SET read_at = 1 WHERE id = ?", (record.id,))
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "content" and window.tasks.idle)
    return window


def names(window):
    return {server.name for server in window.live.catalog.servers}


def buttons(window, name):
    window.catalog.content.show_server(name)
    return {b.text(): b for b in window.catalog.content.details.buttons if not b.isHidden()}


def test_a_server_added_by_hand_is_removed_and_undo_brings_it_back(window, qtbot):
    before = {s.name: s.trusted for s in window.live.catalog.servers}
    buttons(window, "mine")["Remove"].click()
    qtbot.waitUntil(lambda: names(window) == {"one", "two", "theirs"})
    assert window.status.message.text() == "Removed mine"
    window.undo.undo()
    qtbot.waitUntil(lambda: "mine" in names(window))
    assert {s.name: s.trusted for s in window.live.catalog.servers} == before
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_from_its_details_one_server_goes_and_not_the_others_of_its_file(window, qtbot):
    buttons(window, "one")["Remove"].click()
    qtbot.waitUntil(lambda: names(window) == {"mine", "two", "theirs"})
    window.undo.undo()
    qtbot.waitUntil(lambda: names(window) == {"mine", "one", "two", "theirs"})
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_without_any_server_the_page_offers_to_add_one_and_undo_shows_them_again(window, qtbot):
    db = window.services.ctx.open_store()
    db.execute("DELETE FROM entries WHERE host != 'manual'")
    db.execute("DELETE FROM servers WHERE name = 'theirs'")
    db.close()
    buttons(window, "one")
    window.catalog.remove_added()
    qtbot.waitUntil(lambda: names(window) == {"mine"})
    buttons(window, "mine")["Remove"].click()
    qtbot.waitUntil(lambda: not names(window))
    assert window.catalog.state == "empty"
    assert window.catalog.empty.buttons[0].isVisible()
    window.undo.undo()
    qtbot.waitUntil(lambda: names(window) == {"mine"})
    assert window.catalog.state == "content"
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_what_came_in_one_file_goes_together_as_the_samples(window, qtbot):
    buttons(window, "one")
    window.catalog.remove_added()
    qtbot.waitUntil(lambda: names(window) == {"mine", "theirs"})
    window.undo.undo()
    qtbot.waitUntil(lambda: names(window) == {"mine", "one", "two", "theirs"})
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_a_server_that_a_host_names_leaves_its_file_by_preview_only(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    before = file.read_bytes()
    buttons(window, "theirs")["Remove…"].click()
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: page.entry.isVisible(), timeout=20000)
    assert page.entry.write.text() == "Remove from the file"
    assert file.read_bytes() == before and "theirs" in names(window)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20000)


@pytest.fixture
def twice(window, ctx, places, qtbot):
    """A server with a value that files of two hosts name."""
    entry = {"command": "uvx", "args": ["x"], "env": {"API_TOKEN": "sup3r-s3cret"}}
    file = places.home / ".config/Claude/claude_desktop_config.json"
    for one in (file, places.home / ".cursor/mcp.json"):
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(json.dumps({"mcpServers": {"both": entry}}))
    db = ctx.open_store()
    register(ctx, db, read_hosts(places))
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: window.live.catalog.server("both") is not None)
    return window


def test_a_server_of_two_hosts_asks_in_which_file_it_is_changed(twice, qtbot):
    for press, verb in (
        (lambda: buttons(twice, "both")["Remove…"].click(), "Remove from"),
        (twice.catalog.edit_server, "Edit in"),
    ):
        press()
        menu = twice.findChild(QMenu, "serverPlaces")
        hosts = [action.text() for action in menu.actions()]
        assert hosts == [f"{verb} Claude Desktop…", f"{verb} Cursor…"]
        if verb == "Edit in":
            menu.close()
        else:
            QTest.keyClick(menu, Qt.Key.Key_Return)  # the first has the keys
            page = twice.pages["hosts"]
            qtbot.waitUntil(lambda page=page: page.entry.isVisible(), timeout=20000)
            assert page.entry.title.text() == "Remove both from Claude Desktop"
            twice.open_page("catalog")
        qtbot.waitUntil(lambda: twice.findChild(QMenu, "serverPlaces") is None)
    qtbot.waitUntil(lambda: twice.tasks.idle, timeout=20000)


def test_a_duplicate_of_a_hosts_server_begins_with_its_values(twice, qtbot):
    twice.catalog.content.show_server("both")
    twice.catalog.edit_server(duplicate=True)
    qtbot.waitUntil(lambda: twice.findChild(AddServerDialog) is not None)
    form = twice.findChild(AddServerDialog)
    assert form.windowTitle() == "Duplicate a server" and form.name.text() == "both-copy"
    assert form.pairs.pairs == (("API_TOKEN", "sup3r-s3cret"), ("", ""))
    form.reject()


def test_f5_reads_what_is_selected_and_shift_f5_all(window, qtbot):
    window.catalog.content.show_server("one")
    QTest.keyClick(window, Qt.Key.Key_F5)
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: len(reading.model.rows) == 4)
    assert [row.candidate.name for row in reading.model.rows if row.ticked] == ["one"]
    QTest.keyClick(window, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: window.tasks.idle and len(reading.model.rows) == 4)
    assert sum(row.ticked for row in reading.model.rows) > 1
