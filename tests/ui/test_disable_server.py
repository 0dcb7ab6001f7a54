"""A server is disabled without taking it out: the Catalog says so everywhere, undo enables it."""

import pytest
from PySide6.QtWidgets import QLabel

from app.catalog import reasons
from app.hosts.launch import STDIO, LaunchSpec
from app.hosts.reading import read_hosts
from app.registry.importing import add_server
from app.registry.register import register, targets
from store import servers, tools
from store.connection import transaction
from store.records import NewTool
from ui.pages.catalog.details_text import why_not
from ui.pages.catalog.server_work import find_servers


@pytest.fixture
def window(ctx, places, open_window, qtbot):
    """One server that was typed in, one that Cursor's file names, a tool each."""
    ctx.paths.create()
    cursor = places.home / ".cursor/mcp.json"
    cursor.parent.mkdir(parents=True)
    cursor.write_text('{"mcpServers": {"theirs": {"command": "uvx", "args": ["x"]}}}')
    db = ctx.open_store()
    add_server(ctx, db, "mine", LaunchSpec(STDIO, command="uvx", args=("mine",)))
    register(ctx, db, read_hosts(places))
    with transaction(db):
        for record in servers.all_servers(db):
            raw = {"name": "do", "inputSchema": {"type": "object"}}
            tools.save_list(db, record.id, [NewTool("do", raw, "h")], at=1.0)
        db.execute("UPDATE servers SET status = 'read', read_at = 1")
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "content" and window.tasks.idle, timeout=20000)
    return window


def disabled(window):
    return {server.name for server in window.live.catalog.servers if server.disabled}


def row(window, name):
    return window.live.catalog.find(f"{name}/do")


@pytest.mark.parametrize("name", ["mine", "theirs"])
def test_a_disabled_server_is_out_with_one_reason_and_undo_brings_it_back(window, name, qtbot):
    window.catalog.show_server(name)
    window.catalog.disable_server()
    qtbot.waitUntil(lambda: disabled(window) == {name}, timeout=20000)
    assert window.status.message.text() == f"Disabled {name}"
    assert [reason.kind for reason in row(window, name).reasons] == [reasons.DISABLED]
    assert row(window, name).on, "the tick stays"
    assert "Enable it first" in why_not(row(window, name))
    window.undo.undo()
    qtbot.waitUntil(lambda: not disabled(window), timeout=20000)
    assert row(window, name).shown
    window.undo.redo()
    qtbot.waitUntil(lambda: disabled(window) == {name}, timeout=20000)


def test_the_card_says_it_and_offers_to_enable(window, qtbot):
    content = window.catalog.content
    window.catalog.show_server("theirs")
    content.tree.disable_requested.emit(window.live.catalog.server("theirs"))
    qtbot.waitUntil(lambda: disabled(window) == {"theirs"}, timeout=20000)
    window.catalog.show_server("theirs")
    text = " ".join(label.text() for label in content.details.findChildren(QLabel))
    assert "neither starts nor serves it" in text and "A file of Cursor still names it" in text
    badge = content.model.index(content.tree.currentIndex().row(), 0)
    shown = [badge.siblingAtColumn(n).data() for n in range(content.model.columnCount())]
    assert any("Disabled" in str(words) for words in shown)
    shown = {b.text(): b for b in content.details.buttons if not b.isHidden()}
    assert set(shown) == {"Enable", "Remove…"}
    shown["Enable"].click()
    qtbot.waitUntil(lambda: not disabled(window), timeout=20000)


def test_nothing_reads_a_disabled_server(window, ctx, places, qtbot):
    window.catalog.show_server("mine")
    window.catalog.disable_server()
    qtbot.waitUntil(lambda: disabled(window) == {"mine"}, timeout=20000)
    db = ctx.open_store()
    try:
        assert [target.name for target in targets(ctx, db)] == ["theirs"]
    finally:
        db.close()
    window.catalog.show_server("mine")
    window.catalog.read_selected()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: len(reading.model.rows) == 2, timeout=20000)
    assert reading.go.text() == "Read tools" and not reading.go.isEnabled()
    candidates = {one.name: one for one in find_servers(ctx, places).candidates}
    assert not candidates["mine"].ticked and not candidates["mine"].command
    assert candidates["mine"].problem == "It is disabled in Toolcrib."
