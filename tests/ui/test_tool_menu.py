"""Wherever a table names tools they can be turned on or off, pinned and looked at."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

from app.catalog.catalog import load_catalog
from store import events
from store.connection import transaction
from store.records import EventRecord

CALL = {"kind": "call", "host": "cursor", "session": "s", "tool": "github/search_code"}


@pytest.fixture
def window(fill, open_window, ctx):
    fill()
    db = ctx.open_store()
    with transaction(db):
        events.add(db, [EventRecord(at=ctx.clock(), **CALL)])
    db.close()
    return open_window()


def stored(ctx, name):
    db = ctx.open_store()
    try:
        return load_catalog(db).find(name)
    finally:
        db.close()


def open_menu(view):
    view.customContextMenuRequested.emit(QPoint(5, 5))
    return next(menu for menu in reversed(view.findChildren(QMenu)) if menu.isVisible())


def trigger(menu, start):
    action = next(a for a in menu.actions() if a.text().replace("&", "").startswith(start))
    action.trigger()
    menu.close()


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)


def events_table(window, qtbot):
    window.open_page("activity")
    live = window.page.live
    qtbot.waitUntil(lambda: live.model.rowCount() == 1, timeout=20_000)
    live.view.setCurrentIndex(live.shown.index(0, 0))
    return live.view


def usage_table(window, qtbot):
    window.open_page("activity")
    qtbot.waitUntil(lambda: window.page.live.model.rowCount() == 1, timeout=20_000)
    window.page.tabs.setCurrentIndex(1)
    tree = window.page.usage
    qtbot.waitUntil(lambda: tree.model.rowCount() > 0 and window.tasks.idle, timeout=20_000)
    for row in range(tree.model.rowCount()):
        parent = tree.model.index(row, 0)
        for number in range(tree.model.rowCount(parent)):
            index = tree.model.index(number, 0, parent)
            if tree.model.tool_at(index).row.tool.name == "search_code":
                tree.view.setCurrentIndex(index)
    return tree.view


@pytest.mark.parametrize("table", [events_table, usage_table])
def test_a_tool_is_turned_off_and_pinned_from_its_row(window, qtbot, ctx, table):
    view = table(window, qtbot)
    trigger(open_menu(view), "Pin search_code")
    settled(window, qtbot)
    assert stored(ctx, "github/search_code").pinned
    trigger(open_menu(view), "Turn off search_code")
    settled(window, qtbot)
    assert not stored(ctx, "github/search_code").on
    assert window.undo.undoText() == "Turn off search_code"
    window.undo.undo()
    window.undo.undo()
    settled(window, qtbot)
    row = stored(ctx, "github/search_code")
    assert (row.on, row.pinned) == (True, False)


def test_what_is_off_can_be_turned_on_and_not_pinned(window, qtbot, ctx):
    window.live.set_on([window.live.catalog.find("github/search_code").tool.id], False)
    menu = open_menu(events_table(window, qtbot))
    texts = [action.text().replace("&", "") for action in menu.actions()]
    assert texts == ["Turn on search_code", "Show in Catalog", "Why is it in or out?"]
    trigger(menu, "Turn on")
    settled(window, qtbot)
    assert stored(ctx, "github/search_code").on


def test_its_row_leads_to_the_catalog(window, qtbot):
    view = events_table(window, qtbot)
    trigger(open_menu(view), "Show in Catalog")
    chosen = window.page.content.tree.selected_tools()
    assert [row.tool.name for row in chosen] == ["search_code"]


def test_a_row_that_names_no_tool_has_no_menu(window, qtbot, ctx):
    db = ctx.open_store()
    with transaction(db):
        events.add(db, [EventRecord(at=ctx.clock() + 1, kind="search", query="anything")])
    db.close()
    window.open_page("activity")
    live = window.page.live
    qtbot.waitUntil(lambda: live.model.rowCount() == 2, timeout=20_000)
    live.view.setCurrentIndex(live.shown.index(0, 0))
    live.view.customContextMenuRequested.emit(QPoint(5, 5))
    assert not [menu for menu in live.view.findChildren(QMenu) if menu.isVisible()]


def test_the_edit_menu_turns_and_pins_what_is_selected_in_the_catalog(window, qtbot, ctx):
    window.open_page("catalog")
    window.page.content.show_tool(window.live.catalog.find("github/merge").tool.id)
    edit = next(a.menu() for a in window.menuBar().actions() if a.text() == "&Edit")
    by_text = {action.text().replace("&", ""): action for action in edit.actions()}
    by_text["Turn selection on or off"].trigger()
    settled(window, qtbot)
    assert not stored(ctx, "github/merge").on
    by_text["Turn selection on or off"].trigger()
    by_text["Pin or unpin selection"].trigger()
    settled(window, qtbot)
    assert stored(ctx, "github/merge").pinned
    window.page.content.tree.selectionModel().clear()
    by_text["Pin or unpin selection"].trigger()
    assert "Select tools" in window.status.message.text()
