"""Writes of hosts' files that an earlier run made are taken back in the window, step by step."""

import json

import pytest
from hosts_kit import CLAUDE, CURSOR, put_files, stock

from app.export.apply import apply, restore_all
from app.export.entries.plan import load_plan
from app.export.plan import EDIT, REMOVE, EntryChange
from app.hooks.files import change_plan
from app.hosts.facts import host
from app.hosts.launch import LaunchSpec
from app.registry.register import register_file
from store import servers
from ui.pages.hosts.preview import load_preview

WAIT = 20_000


@pytest.fixture
def home(places, services):
    put_files(places)
    stock(services)
    return places.home


def entry_of(db, name, host_id):
    rows = servers.all_servers(db)
    return next(e for row in rows for e in row.entries if (e.name, e.host) == (name, host_id))


def change(ctx, places, change_of):
    """Write a change of one entry as an earlier run or the command line does."""
    db = ctx.open_store()
    made = change_of(db)
    apply(load_plan(ctx, db, places, made), ctx, db)
    register_file(ctx, db, places, made.entry, (made.entry.name, made.name))
    db.close()


def export(services, host_id, mode):
    db = services.ctx.open_store()
    from app.catalog.catalog import load_catalog

    catalog = load_catalog(db, "default", "o200k_base")
    shown = load_preview(
        db, services.ctx, services.places, catalog=catalog, host_id=host_id, mode=mode
    )
    apply(shown.plan, services.ctx, db)
    db.close()


def texts(window):
    stack = window.undo
    return [stack.text(number).partition(" (")[0] for number in range(stack.count())]


def steps(window, qtbot, count):
    qtbot.waitUntil(lambda: window.undo.count() == count and window.tasks.idle, timeout=WAIT)


def test_writes_of_an_earlier_run_are_undone_in_the_window_one_by_one(
    home, services, open_window, qtbot
):
    claude, cursor = (home / CLAUDE).read_bytes(), (home / CURSOR).read_bytes()
    export(services, "claude-desktop", "through")
    export(services, "cursor", "pruned")
    pruned = (home / CURSOR).read_bytes()
    window = open_window()
    steps(window, qtbot, 2)
    assert texts(window) == ["Write config of Claude Desktop", "Write config of Cursor"]
    assert window.undo.undoText().endswith(")"), "it says when"
    assert not window.status.undo.isVisible(), "nothing happened now"
    window.undo.undo()
    qtbot.waitUntil(lambda: (home / CURSOR).read_bytes() == cursor, timeout=WAIT)
    assert (home / CLAUDE).read_bytes() != claude
    window.undo.undo()
    qtbot.waitUntil(lambda: (home / CLAUDE).read_bytes() == claude, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    window.undo.redo()
    window.undo.redo()
    page = window.hosts_page
    qtbot.waitUntil(lambda: page.preview is not None and window.tasks.idle, timeout=WAIT)
    assert (home / CURSOR).read_bytes() == cursor != pruned, "redo shows, and writes nothing"


def test_an_edit_of_one_server_comes_back_with_its_catalog_row_and_can_be_shown_again(
    home, services, places, open_window, qtbot
):
    before = (home / CURSOR).read_bytes()
    launch = LaunchSpec("stdio", command="uvx", args=("mcp-server-time", "--utc"))
    change(
        services.ctx,
        places,
        lambda db: EntryChange(entry_of(db, "time", "cursor"), EDIT, "clock", launch),
    )
    after = (home / CURSOR).read_bytes()
    change(services.ctx, places, lambda db: EntryChange(entry_of(db, "github", "cursor"), REMOVE))
    window = open_window()
    steps(window, qtbot, 2)
    assert texts(window) == ["Edit time in Cursor", "Remove github from Cursor"]
    window.undo.undo()
    qtbot.waitUntil(lambda: (home / CURSOR).read_bytes() == after, timeout=WAIT)
    window.undo.undo()
    qtbot.waitUntil(lambda: (home / CURSOR).read_bytes() == before, timeout=WAIT)
    qtbot.waitUntil(
        lambda: window.live.catalog.server("time").spec.args == ("mcp-server-time",), timeout=WAIT
    )
    window.undo.redo()
    qtbot.waitUntil(lambda: window.hosts_page.entry.isVisible(), timeout=WAIT)
    page = window.hosts_page
    assert page.entry.title.text() == "Edit time in Cursor"
    assert '"--utc"' in page.entry.diff.after.toPlainText()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    assert (home / CURSOR).read_bytes() == before


def test_hooks_and_restores_are_steps_too_and_a_refusal_is_said_on_the_hosts_page(
    home, services, places, open_window, qtbot
):
    written = json.loads((home / CURSOR).read_text())
    export(services, "cursor", "through")
    db = services.ctx.open_store()
    restore_all(services.ctx, db)
    plan = change_plan(db, places, host("claude-code"), profile="default", wanted=True)
    apply(plan, services.ctx, db)
    db.close()
    window = open_window()
    steps(window, qtbot, 2)
    assert texts(window) == ["Restore files of Cursor", "Suggest tools in Claude Code"]
    window.undo.undo()
    qtbot.waitUntil(lambda: window.undo.index() == 1 and window.tasks.idle, timeout=WAIT)
    written["mcpServers"]["time"]["command"] = "changed-outside"
    (home / CURSOR).write_text(json.dumps(written, indent=2) + "\n")
    window.undo.undo()
    qtbot.waitUntil(lambda: window.page.messages.text != "" and window.tasks.idle, timeout=WAIT)
    assert window.page is window.pages["hosts"]
    assert window.undo.index() == 1, "the step stays done"


def test_a_write_whose_copy_is_gone_is_no_step(home, services, open_window, qtbot):
    export(services, "claude-desktop", "through")
    export(services, "cursor", "pruned")
    for copy in (services.ctx.paths.backups / "claude-desktop").iterdir():
        copy.unlink()
    window = open_window()
    steps(window, qtbot, 1)
    assert texts(window) == ["Write config of Cursor"]
