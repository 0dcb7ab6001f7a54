"""Own servers are edited, renamed and duplicated; others say where they are changed."""

import json
from threading import Event

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from PySide6.QtWidgets import QLineEdit
from shiboken6 import isValid

from app.catalog.catalog import match_tools, set_on
from app.hosts.launch import STDIO, LaunchSpec
from app.registry.importing import add_server, edit_server
from app.registry.register import stored_launch
from app.secrets.secret_store import SecretStore
from store import queries, servers, tools
from store.connection import transaction
from store.records import NewTool
from ui.pages.catalog.add_server import AddServerDialog
from ui.pages.catalog.editing import ServerForms
from ui.shell.query_set import save_label

SECRET = "sup3r-s3cret-value-42"
LAUNCH = LaunchSpec(STDIO, "npx", ("-y", "memory", "a b"), env={"API_TOKEN": SECRET})


@pytest.fixture
def window(ctx, open_window, qtbot):
    """One server that was typed in, with two tools of which one is off."""
    ctx.paths.create()
    db = ctx.open_store()
    add_server(ctx, db, "memory", LAUNCH)
    record = servers.by_name(db, "memory")
    raws = [{"name": n, "inputSchema": {"type": "object"}} for n in ("remember", "forget")]
    with transaction(db):
        new = [NewTool(raw["name"], raw, raw["name"]) for raw in raws]
        tools.save_list(db, record.id, new, at=1.0)
        db.execute("UPDATE servers SET read_at = 1, status = 'read'")
    db.close()
    window = open_window()
    off = match_tools(window.live.catalog, ["memory/forget"])
    window.tasks.change(lambda db: set_on(db, "default", [row.tool.id for row in off], False))
    qtbot.waitUntil(lambda: not window.live.catalog.find("memory/forget").on)
    return window


def form_of(window, qtbot, *, duplicate=False):
    window.catalog.show_server("memory")
    window.catalog.edit_server(duplicate=duplicate)
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None)
    return window.findChild(AddServerDialog)


def launch_of(ctx, name):
    db = ctx.open_store()
    try:
        return stored_launch(servers.by_name(db, name), SecretStore.open(ctx.paths))
    finally:
        db.close()


def test_a_server_is_edited_and_renamed_with_its_ticks_and_undone(window, ctx, qtbot):
    form = form_of(window, qtbot)
    assert (form.name.text(), form.command.text()) == ("memory", "npx -y memory 'a b'")
    name, value = form.pairs.rows[0]
    assert (name.text(), value.text()) == ("API_TOKEN", SECRET)
    assert value.echoMode() == QLineEdit.EchoMode.Password
    form.name.setText("notes")
    form.command.setText("uvx memory-server --fast")
    value.setText("another-s3cret-value")
    form.save.click()
    qtbot.waitUntil(lambda: window.live.catalog.server("notes") is not None)
    assert [s.name for s in window.live.catalog.servers] == ["notes"]
    assert window.live.catalog.find("notes/forget").on is False
    assert window.live.catalog.find("notes/remember").on is True
    changed = launch_of(ctx, "notes")
    assert (changed.command, changed.args) == ("uvx", ("memory-server", "--fast"))
    assert changed.env == {"API_TOKEN": "another-s3cret-value"}
    assert window.undo.undoText() == "Edit memory"
    window.undo.undo()
    qtbot.waitUntil(lambda: window.live.catalog.server("memory") is not None)
    back = launch_of(ctx, "memory")
    assert (back.command, back.args, back.env) == (LAUNCH.command, LAUNCH.args, LAUNCH.env)
    assert window.live.catalog.find("memory/forget").on is False


def test_a_duplicate_begins_like_its_server_and_is_one_of_its_own(window, qtbot):
    form = form_of(window, qtbot, duplicate=True)
    assert (form.name.text(), form.save.text()) == ("memory-copy", "Add")
    form.command.setText("npx -y memory other")
    form.save.click()
    qtbot.waitUntil(lambda: len(window.live.catalog.servers) == 2)
    assert {s.name for s in window.live.catalog.servers} == {"memory", "memory-copy"}


def test_a_name_that_is_taken_is_refused_and_nothing_changes(window, ctx, qtbot):
    db = ctx.open_store()
    add_server(ctx, db, "other", LaunchSpec(STDIO, "other"))
    with pytest.raises(Exception, match="A server is called other already"):
        edit_server(ctx, db, servers.by_name(db, "memory"), "other", LAUNCH)
    assert {s.name for s in servers.all_servers(db)} == {"memory", "other"}
    db.close()


def test_an_update_of_what_no_list_named_names_a_step_in_the_window(window, qtbot):
    window.catalog.show_server("memory")
    window.catalog.update_server()
    line = window.status.message
    qtbot.waitUntil(lambda: "was not added from a list" in line.text())
    assert "Find servers" in line.text() and "toolcrib" not in line.text()


def test_forms_that_are_closed_leave_nothing_behind(window, qtbot):
    for _ in range(3):
        form = form_of(window, qtbot)
        form.reject()
        qtbot.waitUntil(lambda form=form: not isValid(form))
    assert len(window.catalog.findChildren(ServerForms)) == 1


class HangingKeychain(KeyringBackend):
    """Holds the values of one server; answers from when `open` is set."""

    priority = 1.0

    def __init__(self, kept):
        super().__init__()
        self.kept, self.open = json.dumps(kept), Event()

    def get_password(self, service, username):
        assert self.open.wait(20)
        return self.kept

    def set_password(self, service, username, password):
        raise KeyringLocked


@pytest.fixture
def keychain(window, ctx):
    """The server's values are in a keychain that hangs."""
    ctx.paths.secrets.unlink()
    before = keyring.get_keyring()
    backend = HangingKeychain({"env": {"API_TOKEN": SECRET}})
    keyring.set_keyring(backend)
    yield backend
    backend.open.set()
    keyring.set_keyring(before)


def test_a_keychain_that_hangs_holds_up_no_reading(window, ctx, keychain, qtbot):
    window.catalog.show_server("memory")
    window.catalog.edit_server()
    save_label(window.services, f"note down {SECRET}", "memory/remember")
    read = []
    window.tasks.request(lambda db: len(servers.all_servers(db)), read.append)
    qtbot.waitUntil(lambda: read == [1])
    with ctx.store() as db:
        assert queries.labels(db) == []
    assert window.findChild(AddServerDialog) is None
    keychain.open.set()
    qtbot.waitUntil(lambda: window.findChild(AddServerDialog) is not None)
    form = window.findChild(AddServerDialog)
    assert form.pairs.rows[0][1].text() == SECRET
    with ctx.store() as db:
        qtbot.waitUntil(lambda: bool(queries.labels(db)))
        assert queries.labels(db)[0].query == "note down ••••"
    form.reject()
