"""What the Hosts page's bar says of a write holds as long as the host's files have it."""

import json

import pytest
from hosts_kit import CLAUDE, CURSOR, open_host, open_page, put_files, write

from app.export.apply import undo_host
from app.export.plan import REMOVE, EntryChange
from store import exports, servers


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def settled(page, qtbot):
    qtbot.waitUntil(lambda: page.services.tasks.idle)


def test_after_its_undo_a_write_is_no_longer_said_to_be_made(page, qtbot):
    open_host(page, qtbot, "claude-desktop", "pruned")
    write(page, qtbot)
    settled(page, qtbot)
    assert page.messages.text.startswith("Written. Quit Claude Desktop")
    page.services.undo.undo()
    qtbot.waitUntil(lambda: page.messages.text == "")
    assert page.messages.isHidden(), "with a button that would do nothing"


def test_a_write_that_is_taken_back_elsewhere_is_no_longer_said_to_be_made(page, qtbot):
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    settled(page, qtbot)
    db = page.services.ctx.open_store()
    undo_host("claude-desktop", page.services.ctx, db)
    db.close()
    page.desk.survey()
    qtbot.waitUntil(lambda: not page.messages.text.startswith("Written"))


def test_a_broken_file_is_named_once_with_what_to_do(home, services, qtbot):
    (home / CURSOR).write_text('{"mcpServers": {')
    page = open_page(services, qtbot)
    page.choose("cursor")
    qtbot.waitUntil(lambda: page.preview is not None and bool(page.preview.plan.refusal))
    assert page.messages.text == "Its file cannot be read. Nothing is written."
    detail = page.detail
    assert detail.notes.text().startswith(f"{home / CURSOR}: The file is not valid JSON, line 1: ")
    assert detail.notes.text().endswith(
        ". Repair the file, or restore it from a backup, and try again."
    )
    assert not detail.hint.text() and "not valid" not in detail.nothing.text()


def test_a_host_that_is_not_here_gets_no_recommendation(page, qtbot):
    page.choose("qwen-code")
    qtbot.waitUntil(lambda: page.preview is not None and page.preview.plan.host.id == "qwen-code")
    assert page.detail.notes.text() == "Install it, or start it once. Then press F5 to look again."


def test_servers_that_were_not_read_are_counted_without_a_zero(home, services, qtbot):
    page = open_page(services, qtbot)
    db = services.ctx.open_store()
    db.execute("DELETE FROM tools")
    db.execute("UPDATE servers SET status = 'configured'")
    db.close()
    services.live.load()
    page.choose("cursor")
    qtbot.waitUntil(
        lambda: (
            page.preview is not None
            and page.preview.plan.host.id == "cursor"
            and not page.preview.catalog.tools
        ),
        timeout=20_000,
    )
    assert page.preview.headline.endswith("not read") and "0 tokens" not in page.preview.headline


def test_the_sentence_stays_while_the_files_have_the_write(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    file = home / CLAUDE
    tree = json.loads(file.read_text())
    file.write_text(json.dumps({**tree, "globalShortcut": "F1"}))
    page.desk.survey()
    settled(page, qtbot)
    assert page.messages.text.startswith("Written.")


def test_after_its_undo_a_server_is_no_longer_said_to_be_removed(page, qtbot):
    db = page.services.ctx.open_store()
    entry = next(e for e in servers.all_entries(db) if (e.host, e.name) == ("cursor", "time"))
    db.close()
    page.services.hosts.entry_wanted.emit(EntryChange(entry, REMOVE))
    qtbot.waitUntil(lambda: page.entry.write.isEnabled() and page.entry.isVisible())
    page.entry.write.click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Removed."))
    settled(page, qtbot)
    assert page.messages.text.startswith("Removed.")
    page.services.undo.undo()
    qtbot.waitUntil(lambda: page.messages.text == "")


def test_after_its_undo_a_hook_is_no_longer_said_to_be_written(page, qtbot, home):
    open_host(page, qtbot, "codex", "through")
    write(page, qtbot)
    settled(page, qtbot)
    page.detail.hook.switch.click()
    qtbot.waitUntil(lambda: page.hook.isVisible() and page.hook.write.isEnabled())
    page.hook.write.click()
    db = page.services.ctx.open_store()
    qtbot.waitUntil(lambda: bool(exports.in_force(exports.hooks_of(db, "codex"))))
    db.close()
    settled(page, qtbot)
    assert page.messages.text.startswith("Written.")
    page.services.undo.undo()
    qtbot.waitUntil(lambda: page.messages.text == "")
    assert (home / CURSOR).exists()
