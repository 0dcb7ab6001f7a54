"""A server of a host's file is edited, switched off and removed there by preview."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QWidget

from app.export.plan import DISABLE, EDIT, REMOVE
from app.hosts.reading import read_hosts
from app.registry.register import register
from store import profiles, servers
from ui.pages.catalog.add_server import AddServerDialog

SECRET = "sup3r-s3cret-value-42"
CURSOR = """{
  "mcpServers": {
    "github": {"command": "npx", "args": ["g"],
      "env": {"API_TOKEN": "sup3r-s3cret-value-42"}},
    "files": {"command": "npx",  "args": ["f"]}
  }
}
"""
KIRO = """{
  "mcpServers": {
    "shared": {"command": "uvx", "args": ["s"]},
    "files": {"command": "npx", "args": ["f"]}
  }
}
"""
WAIT = 20_000


@pytest.fixture
def window(ctx, places, open_window, qtbot):
    for path, text in ((".cursor/mcp.json", CURSOR), (".kiro/settings/mcp.json", KIRO)):
        file = places.home / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
    ctx.paths.create()
    db = ctx.open_store()
    register(ctx, db, read_hosts(places))
    for record in servers.all_servers(db):
        servers.set_status(db, record.id, "read")
    db.execute("UPDATE servers SET read_at = 1")
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "content" and window.tasks.idle, timeout=WAIT)
    return window


def hosts(window):
    return window.pages["hosts"]


def names(window):
    return {server.name for server in window.live.catalog.servers}


def entry_of(window, name, host="cursor"):
    server = window.live.catalog.server(name)
    return next(entry for entry in server.entries if entry.host == host)


def change(window, qtbot, name, kind, host="cursor"):
    """Choose it in the menu; the Hosts page, once it shows what would be written."""
    window.catalog.show_server(name)
    window.catalog.content.tree.entry_requested.emit(entry_of(window, name, host), kind)
    return shown(window, qtbot)


def shown(window, qtbot):
    qtbot.waitUntil(lambda: hosts(window).entry.isVisible(), timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    page = hosts(window)
    assert page.entry.isVisible(), "a look at the files does not close it"
    chosen = page.model.rows[page.list.currentIndex().row()].host.id
    assert chosen == page.changes.host
    return page


def write(page, window, qtbot):
    page.entry.write.click()
    qtbot.waitUntil(lambda: not page.entry.isVisible() and window.tasks.idle, timeout=WAIT)


def test_a_removal_is_shown_then_written_and_undo_gives_the_bytes_back(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    window.catalog.show_server("github")
    window.catalog.remove_server()
    page = shown(window, qtbot)
    assert page.entry.title.text() == "Remove github from Cursor"
    assert "github" in page.entry.diff.before.toPlainText()
    assert "github" not in page.entry.diff.after.toPlainText()
    assert file.read_text() == CURSOR, "nothing is written unseen"
    write(page, window, qtbot)
    start, end = CURSOR.index('"github'), CURSOR.index('"files')
    assert file.read_text() == CURSOR[:start] + CURSOR[end:]
    assert page.messages.text.startswith("Removed. Cursor reconnects")
    qtbot.waitUntil(lambda: names(window) == {"files", "shared"}, timeout=WAIT)
    assert window.undo.undoText() == "Remove github from Cursor"
    window.undo.undo()
    qtbot.waitUntil(lambda: "github" in names(window), timeout=WAIT)
    assert file.read_text() == CURSOR
    window.undo.redo()  # which shows the preview and writes nothing
    assert shown(window, qtbot).entry.title.text() == "Remove github from Cursor"
    assert file.read_text() == CURSOR


def test_a_copy_that_is_restored_brings_its_servers_back_into_the_catalog(window, places, qtbot):
    page = change(window, qtbot, "github", REMOVE)
    write(page, window, qtbot)
    qtbot.waitUntil(lambda: names(window) == {"files", "shared"}, timeout=WAIT)
    qtbot.waitUntil(lambda: page.detail.backups.text() == "Backups (1)", timeout=WAIT)
    page.detail.backups.click()
    qtbot.waitUntil(page.sheet.restore.isEnabled, timeout=WAIT)
    page.sheet.restore.click()
    qtbot.waitUntil(lambda: "github" in names(window), timeout=WAIT)
    assert (places.home / ".cursor/mcp.json").read_text() == CURSOR


def test_an_edit_begins_with_the_file_and_hides_values(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    window.catalog.show_server("github")
    window.catalog.edit_server()
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None, timeout=WAIT)
    form = window.findChild(AddServerDialog)
    assert form.windowTitle() == "Edit github in Cursor"
    assert (form.name.text(), form.command.text()) == ("github", "npx g")
    name, value = form.pairs.rows[0]
    assert (name.text(), value.text()) == ("API_TOKEN", SECRET)
    assert value.echoMode() == QLineEdit.EchoMode.Password
    form.name.setText("hub")
    form.command.setText("npx g2")
    form.save.click()
    page = shown(window, qtbot)
    assert page.entry.title.text() == "Edit github in Cursor"
    for widget in page.findChildren(QWidget):
        for read in ("text", "toPlainText", "toolTip", "accessibleName"):
            words = getattr(widget, read, "")
            assert SECRET not in str(words() if callable(words) else words)
    write(page, window, qtbot)
    assert file.read_text() == CURSOR.replace('"github"', '"hub"').replace('["g"]', '["g2"]')
    qtbot.waitUntil(lambda: entry_of(window, "github").name == "hub", timeout=WAIT)
    assert window.live.catalog.server("github").spec.args == ("g2",)
    window.undo.undo()
    qtbot.waitUntil(lambda: file.read_text() == CURSOR, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def test_a_host_with_a_key_is_switched_off_and_one_without_says_so(window, places, qtbot):
    page = change(window, qtbot, "shared", DISABLE, "kiro")
    write(page, window, qtbot)
    after = (places.home / ".kiro/settings/mcp.json").read_text()
    assert after.replace(', "disabled": true', "") == KIRO
    page = change(window, qtbot, "github", DISABLE)
    assert "Cursor has no key in its file that switches a server off" in page.entry.notes.text()
    assert page.entry.write.isHidden() and not page.entry.instead.isHidden()
    page.entry.instead.click()
    qtbot.waitUntil(lambda: not page.entry.write.isHidden(), timeout=WAIT)
    assert page.entry.title.text() == "Remove github from Cursor"
    assert (places.home / ".cursor/mcp.json").read_text() == CURSOR


def test_an_outside_change_after_the_preview_is_refused(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    page = change(window, qtbot, "github", REMOVE)
    theirs = CURSOR.replace("npx", "bunx")
    file.write_text(theirs)
    page.entry.write.click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Not written:"), timeout=WAIT)
    assert file.read_text() == theirs and window.undo.count() == 0
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def test_the_menu_names_each_host_and_a_server_of_several_asks_in_which(window, qtbot):
    window.catalog.show_server("files")
    tree = window.catalog.content.tree
    menu = QMenu(window)
    tree._add_sign_in(menu)
    inside = {a.text(): [b.text() for b in a.menu().actions()] for a in menu.actions() if a.menu()}
    assert inside == {
        "In Cursor": ["&Edit or rename…", "&Disable…", "&Remove…"],
        "In Kiro": ["&Edit or rename…", "&Disable…", "&Remove…"],
    }
    window.catalog.edit_server()
    places = window.findChild(QMenu, "serverPlaces")
    assert [a.text() for a in places.actions()] == ["Edit in Cursor…", "Edit in Kiro…"]
    places.close()
    page = change(window, qtbot, "files", REMOVE)
    assert "It is also in Kiro, where it stays." in page.entry.notes.text()


def test_a_file_that_is_only_read_refuses_with_its_name(window, places, qtbot):
    file = places.home / ".cursor/plugins/local/x/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(CURSOR)
    entry = replace(entry_of(window, "github"), scope="extension", file=str(file))
    tree = window.catalog.content.tree
    tree.entry_requested.emit(entry, EDIT)
    qtbot.waitUntil(lambda: f"reads {file}" in window.status.message.text(), timeout=WAIT)
    tree.entry_requested.emit(entry, REMOVE)
    page = shown(window, qtbot)
    assert f"Toolcrib reads {file} but does not write it." in page.entry.notes.text()
    assert page.entry.write.isHidden()


def test_a_launch_that_a_host_names_twice_is_flagged_and_remove_takes_the_spare_name(
    window, ctx, places, qtbot
):
    file = places.home / ".kiro/settings/mcp.json"
    file.write_text(
        KIRO.replace('"shared"', '"again": {"command": "uvx", "args": ["s"]},\n    "shared"')
    )
    db = ctx.open_store()
    register(ctx, db, read_hosts(places))
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: len(window.live.catalog.server("shared").entries) == 2, timeout=WAIT)
    content = window.catalog.content
    window.catalog.show_server("shared")
    assert content.tree.currentIndex().siblingAtColumn(1).isValid()
    assert "Kiro names it twice, as shared and again" in content.details._text.text()
    window.catalog.remove_server()
    page = shown(window, qtbot)
    assert page.entry.title.text() == "Remove again from Kiro"
    write(page, window, qtbot)
    qtbot.waitUntil(lambda: len(window.live.catalog.server("shared").entries) == 1, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    assert "twice" not in content.details._text.text()


def test_a_server_behind_toolcrib_is_edited_in_the_window_and_undone(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    page = window.hosts_page
    qtbot.waitUntil(lambda: page.preview is not None and window.tasks.idle, timeout=WAIT)
    page.choose("cursor")
    page.detail.radios["through"].click()
    qtbot.waitUntil(lambda: window.tasks.idle and page.detail.write.isEnabled(), timeout=WAIT)
    page.primary()
    qtbot.waitUntil(lambda: window.undo.count() == 1 and window.tasks.idle, timeout=WAIT)
    through = file.read_text()
    assert '"toolcrib"' in through and '"github"' not in through
    window.catalog.show_server("github")
    window.catalog.edit_server()
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None, timeout=WAIT)
    form = window.findChild(AddServerDialog)
    assert (form.windowTitle(), form.command.text()) == ("Edit github in Cursor", "npx g")
    form.command.setText("npx g2")
    form.save.click()
    page = shown(window, qtbot)
    assert '"g2"' in page.entry.diff.after.toPlainText()
    assert '"g2"' not in page.entry.diff.before.toPlainText()
    assert "Cursor reaches it through Toolcrib" in page.entry.notes.text()
    assert page.entry.path.text().endswith("as Toolcrib keeps it")
    write(page, window, qtbot)
    assert file.read_text() == through
    assert page.messages.text == "Written. The next call starts it so."
    spec = lambda: window.live.catalog.server("github").spec.args  # noqa: E731
    qtbot.waitUntil(lambda: spec() == ("g2",), timeout=WAIT)
    window.undo.undo()
    qtbot.waitUntil(lambda: spec() == ("g",) and window.tasks.idle, timeout=WAIT)
    window.undo.undo()
    qtbot.waitUntil(lambda: file.read_text() == CURSOR and window.tasks.idle, timeout=WAIT)


def test_one_that_two_hosts_share_parts_and_the_message_leads_to_where_it_is_read(
    window, places, qtbot
):
    page = window.hosts_page
    qtbot.waitUntil(lambda: page.preview is not None and window.tasks.idle, timeout=WAIT)
    page.choose("kiro")
    page.detail.radios["through"].click()
    qtbot.waitUntil(lambda: window.tasks.idle and page.detail.write.isEnabled(), timeout=WAIT)
    page.primary()
    qtbot.waitUntil(lambda: window.undo.count() == 1 and window.tasks.idle, timeout=WAIT)
    window.catalog.content.tree.entry_requested.emit(entry_of(window, "files", "kiro"), EDIT)
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None, timeout=WAIT)
    form = window.findChild(AddServerDialog)
    form.command.setText("npx f2")
    form.save.click()
    page = shown(window, qtbot)
    assert "In the Catalog it becomes files-2." in page.entry.notes.text()
    write(page, window, qtbot)
    assert page.messages.text.startswith(
        "Written. It is files-2 now, whose tools are not read yet. Kiro "
    ), "whose session knows the other name until it starts anew"
    qtbot.waitUntil(lambda: "files-2" in names(window), timeout=WAIT)
    buttons = page.messages.findChildren(QPushButton)
    next(one for one in buttons if one.text() == "Show server").click()
    assert window.page is window.catalog
    picked = window.catalog.content.tree.currentIndex()
    assert window.catalog.content.model.server_at(picked).name == "files-2"
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def write_mode(window, qtbot, host, mode):
    page = window.hosts_page
    qtbot.waitUntil(lambda: page.preview is not None and window.tasks.idle, timeout=WAIT)
    page.choose(host)
    page.detail.radios[mode].click()
    qtbot.waitUntil(lambda: window.tasks.idle and page.detail.write.isEnabled(), timeout=WAIT)
    page.primary()
    qtbot.waitUntil(lambda: window.undo.count() == 1 and window.tasks.idle, timeout=WAIT)


def test_a_pruned_server_is_edited_and_switched_off_in_the_window_and_undone(
    window, ctx, places, qtbot
):
    file = places.home / ".kiro/settings/mcp.json"
    db = ctx.open_store()
    (profile,) = profiles.all_profiles(db)
    profiles.save_settings(db, profile.id, {"gateway": {"search_hints": True}})
    db.close()  # hints are given by the gateway: every entry runs through it
    window.live.load()
    write_mode(window, qtbot, "kiro", "pruned")
    pruned = file.read_text()
    assert pruned.count("toolcrib-gateway") == 2
    window.catalog.show_server("shared")
    window.catalog.edit_server()
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None, timeout=WAIT)
    form = window.findChild(AddServerDialog)
    assert (form.windowTitle(), form.command.text()) == ("Edit shared in Kiro", "uvx s")
    form.command.setText("uvx s2")
    form.save.click()
    page = shown(window, qtbot)
    after = page.entry.diff.after.toPlainText()
    assert '"s2"' in after and "toolcrib-gateway" in after
    assert "Kiro goes on starting it through Toolcrib." in page.entry.notes.text()
    write(page, window, qtbot)
    edited = file.read_text()
    assert edited == pruned.replace('"s"', '"s2"')
    assert page.messages.text.startswith("Written. Kiro")
    spec = lambda: window.live.catalog.server("shared").spec.args  # noqa: E731
    qtbot.waitUntil(lambda: spec() == ("s2",), timeout=WAIT)
    page = change(window, qtbot, "shared", DISABLE, "kiro")
    write(page, window, qtbot)
    assert '"disabled": true' in file.read_text()
    for text in (edited, pruned, KIRO):
        window.undo.undo()
        qtbot.waitUntil(lambda t=text: file.read_text() == t and window.tasks.idle, timeout=WAIT)
    assert spec() == ("s",)


def test_a_server_behind_toolcrib_is_removed_in_the_window_and_undone(window, places, qtbot):
    file = places.home / ".cursor/mcp.json"
    write_mode(window, qtbot, "cursor", "through")
    through = file.read_text()
    page = change(window, qtbot, "github", REMOVE)
    assert page.entry.title.text() == "Remove github from Cursor"
    assert page.entry.path.text().endswith("as Toolcrib keeps it")
    assert "Cursor reaches it no more, also where it runs;" in page.entry.notes.text()
    write(page, window, qtbot)
    assert file.read_text() == through.replace("github,files", "files")
    assert page.messages.text.startswith("Removed. Cursor reconnects")
    qtbot.waitUntil(lambda: "github" not in names(window), timeout=WAIT)
    page = change(window, qtbot, "files", REMOVE)
    assert "files is the only server behind Toolcrib in Cursor." in page.entry.notes.text()
    assert page.entry.write.isHidden()
    window.undo.undo()
    qtbot.waitUntil(lambda: "github" in names(window) and window.tasks.idle, timeout=WAIT)
    assert file.read_text() == through
