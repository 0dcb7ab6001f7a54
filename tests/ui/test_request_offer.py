"""The window says which tools have no requests and has them written by the user's own `claude`."""

import json
import os

import claude_program
import pytest
from PySide6.QtWidgets import QLabel

from app.core.settings import Settings
from store import requests, tools
from tests.ui.test_reading import entry
from ui.pages.catalog.request_offer import RequestOffer

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program is a script")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A machine with `claude`; the file of what it was asked."""
    file = tmp_path / "claude.log"
    for name, value in claude_program.install(tmp_path / "bin", file).items():
        monkeypatch.setenv(name, value)
    return file


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)


def sources(ctx):
    db = ctx.open_store()
    try:
        live = requests.live(db)
        every = tools.tools(db)
        return {t.tool_id: {row.source for row in live.get(t.id, ())} for t in every}
    finally:
        db.close()


def offered(window, qtbot):
    """The dialog that the Playground's button leads to."""
    window.open_page("playground")
    settled(window, qtbot)
    window.page.tried.empty.write.click()
    settled(window, qtbot)
    assert window.page is window.catalog
    return window.catalog.findChildren(RequestOffer)[-1]


def test_the_playground_says_what_lacks_and_nothing_is_sent_before_a_yes(
    fill, open_window, qtbot, log, ctx
):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    words = window.pages["playground"].tried.empty.lacking.text()
    held = sum(bool(row.held) for row in window.live.catalog.tools)
    total = len(sources(ctx)) - held
    assert f"{total} of {len(sources(ctx))} tools" in words and "72 of 100 queries" in words
    shown = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert held and f"Nothing is sent of {held} tool held back in Review." in shown
    assert dialog.way.currentData() == "claude"
    assert f"descriptions of {total} tools" in dialog.sent.text()
    assert "sends it to the provider" in dialog.sent.text()
    assert not dialog.later.isChecked() and not dialog.url.isVisible()
    dialog.reject()
    assert claude_program.asked(log) == []


def test_requests_are_written_in_the_background_after_a_yes(fill, open_window, qtbot, log, ctx):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    dialog.save.click()
    settled(window, qtbot)
    assert "requests for" in window.catalog.messages.text
    held = {row.tool.tool_id for row in window.live.catalog.tools if row.held}
    assert {tool for tool, who in sources(ctx).items() if who != {"model"}} == held
    assert not Settings.load(ctx.paths.settings_file).requests_new
    window.open_page("playground")
    settled(window, qtbot)
    assert not window.page.tried.empty.write.isVisible()
    window.catalog.write_requests()
    settled(window, qtbot)
    assert window.catalog.findChildren(RequestOffer) == []


def test_an_endpoint_needs_a_model_s_name(fill, open_window, qtbot, log):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    dialog.way.setCurrentIndex(dialog.way.count() - 1)
    assert dialog.url.isVisible() and "127.0.0.1:11434" in dialog.sent.text()
    dialog.save.click()
    assert dialog.isVisible() and "Which model?" in dialog.problem.text()
    dialog.model.setText("qwen3")
    assert "(model qwen3)" in dialog.sent.text()
    dialog.reject()


def test_new_servers_get_theirs_by_themselves_where_that_is_on(
    open_window, places, qtbot, log, ctx
):
    file = places.home / ".cursor/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"one": entry("tools=3")}}), encoding="utf-8")
    ctx.paths.create()
    ctx.keep(requests_command="claude", requests_new=True)
    window = open_window()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: reading.model.rowCount() == 1, timeout=20_000)
    settled(window, qtbot)
    window.catalog.primary()
    qtbot.waitUntil(lambda: len(sources(ctx)) == 3, timeout=60_000)
    settled(window, qtbot)
    assert all(who == {"model"} for who in sources(ctx).values())
    assert len(claude_program.asked(log)) == 1
