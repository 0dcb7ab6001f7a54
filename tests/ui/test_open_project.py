"""Opening a file ticks its servers only; a project that a host knows is offered, none ticked."""

import json

import pytest

from ui.pages.catalog.project_dialog import ProjectDialog

WAIT = 20_000


@pytest.fixture
def window(places, open_window, qtbot):
    """Four servers of Cursor, a project of Claude Code with two of its own."""
    home = places.home
    four = {name: {"command": "uvx", "args": [name]} for name in ("a", "b", "c", "d")}
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": four}))
    shop = home / "work/shop"
    shop.mkdir(parents=True)
    two = {"till": {"command": "uvx", "args": ["till"]}, "stock": {"command": "uvx"}}
    (shop / ".mcp.json").write_text(json.dumps({"mcpServers": two}))
    (home / ".claude.json").write_text(json.dumps({"projects": {str(shop): {}}}))
    window = open_window()
    shown(window, qtbot, "Found 4 servers in 1 host")
    return window


def shown(window, qtbot, title):
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: reading.title.text() == title, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    return reading


def names(reading, ticked):
    return [row.candidate.name for row in reading.model.rows if row.ticked == ticked]


def test_a_config_file_ticks_its_own_servers_and_says_so(window, tmp_path, qtbot):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"mcpServers": {"extra": {"command": "uvx", "args": ["x"]}}}))
    assert len(names(window.catalog.reading, True)) == 4
    window.catalog.take_file(file)
    reading = shown(window, qtbot, "Found 1 server in mine.json")
    assert names(reading, True) == ["extra"]
    assert len(reading.model.rows) == 1, "the servers of other files are left out"
    assert reading.promise.text().startswith("Untick those you do not want to start.")


def test_a_project_that_a_host_knows_is_offered_and_nothing_of_it_is_ticked(window, places, qtbot):
    assert window.catalog.reading.projects.isVisible()
    window.catalog.reading.projects.click()
    qtbot.waitUntil(lambda: window.findChild(ProjectDialog) is not None, timeout=WAIT)
    dialog = window.findChild(ProjectDialog)
    assert [dialog.list.item(n).text() for n in range(dialog.list.count())] == [
        "~/work/shop\nClaude Code · .mcp.json"
    ]
    dialog.save.click()
    reading = shown(window, qtbot, "Found 2 servers in shop")
    assert names(reading, True) == [] and not reading.go.isEnabled()
    assert {row.candidate.name for row in reading.model.rows} == {"till", "stock"}
    assert "Tick those you trust" in reading.promise.text()


def test_a_folder_without_servers_says_which_files_are_looked_for(window, places, qtbot):
    window.catalog.take_project(places.home / "work")
    catalog = window.catalog
    qtbot.waitUntil(lambda: catalog.messages.text != "", timeout=WAIT)
    assert "names a server" in catalog.messages.text and ".mcp.json" in catalog.messages.text
