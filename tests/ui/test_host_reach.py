"""Servers of other hosts are added one by one, by name, before the write."""

import json

import pytest
from hosts_kit import CLAUDE, open_host, open_page, put_files, write
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from app.hosts.reading import read_hosts
from app.registry.register import register
from store import servers
from ui.pages.hosts.reach_row import OtherServers


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def dialog_of(page, qtbot):
    page.detail.reach.add.click()
    qtbot.waitUntil(lambda: page.window().findChild(OtherServers) is not None)
    return page.window().findChild(OtherServers)


def args(home):
    return json.loads((home / CLAUDE).read_text())["mcpServers"]["toolcrib"]["args"]


def test_a_host_reaches_its_own_servers_and_says_so_before_the_write(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "pruned")
    assert page.detail.reach.isHidden()
    open_host(page, qtbot, "claude-desktop", "through")
    assert page.detail.reach.words.text() == "Reaches 1 server: github"
    write(page, qtbot)
    assert args(home) == ["--profile", "default", "--servers", "github"]
    qtbot.waitUntil(lambda: page.services.hosts.sizes and page.services.tasks.idle)
    page.detail.tools.click()
    assert "Behind the search: github." in page.tools.headline.text()
    listed = {page.tools.model.row(n).tool_id for n in range(page.tools.model.rowCount())}
    assert {one.partition("/")[0] for one in listed} == {"", "github"}


def test_a_server_of_another_host_is_ticked_by_name(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "through")
    dialog = dialog_of(page, qtbot)
    assert [dialog.list.item(n).text() for n in range(dialog.list.count())] == ["time"]
    assert dialog.names == ()
    dialog.list.item(0).setCheckState(Qt.CheckState.Checked)
    dialog.save.click()
    qtbot.waitUntil(lambda: page.preview is not None and page.preview.plan.also == ("time",))
    assert page.detail.reach.words.text() == "Reaches 2 servers: github, time"
    assert "Claude Desktop also reaches time" in page.detail.notes.text()
    write(page, qtbot)
    assert args(home)[-1] == "github,time"
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert page.preview.plan.also == ("time",), "it is kept with the write"


def test_a_server_of_its_own_that_is_not_read_is_no_other_hosts(page, qtbot, home):
    file = home / CLAUDE
    data = json.loads(file.read_text())
    data["mcpServers"]["broken"] = {"command": "/nonexistent/notes"}
    file.write_text(json.dumps(data))
    ctx = page.services.ctx
    db = ctx.open_store()
    register(ctx, db, read_hosts(page.services.places))
    servers.set_trusted(db, servers.by_name(db, "broken").id, True)
    db.close()
    page.services.live.load()
    qtbot.waitUntil(lambda: page.services.live.catalog.server("broken") is not None)
    open_host(page, qtbot, "claude-desktop", "through")
    assert "broken" in page.preview.plan.unread
    dialog = dialog_of(page, qtbot)
    assert [dialog.list.item(n).text() for n in range(dialog.list.count())] == ["time"]
    dialog.reject()


def test_a_cancelled_choice_changes_nothing(page, qtbot):
    open_host(page, qtbot, "claude-desktop", "through")
    dialog = dialog_of(page, qtbot)
    dialog.list.item(0).setCheckState(Qt.CheckState.Checked)
    dialog.reject()
    assert dialog.result() == QDialog.DialogCode.Rejected
    assert page.preview.plan.also == ()


def test_a_choice_is_of_one_host(page, qtbot):
    open_host(page, qtbot, "claude-desktop", "through")
    page.detail.reach.chosen.emit(("time",))
    qtbot.waitUntil(lambda: page.preview is not None and page.preview.plan.also == ("time",))
    open_host(page, qtbot, "codex", "through")
    assert page.preview.plan.also == ()
