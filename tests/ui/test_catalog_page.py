"""The Catalog page in the window: ticks, undo, filter, map, details, by mouse and keyboard."""

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from app.catalog.catalog import load_catalog
from store import events
from store.connection import transaction
from store.records import EventRecord
from ui.pages.catalog.tree import filter_term
from ui.pages.catalog.tree_cells import CALLS, FLAGS, HOSTS, NAME, TOKENS
from ui.shell.actions import Tick
from ui.widgets.columns import place
from ui.widgets.roles import BADGE


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def content(window):
    return window.pages["catalog"].content


def on_in_store(ctx) -> set[str]:
    db = ctx.open_store()
    found = {t.tool.tool_id for t in load_catalog(db).tools if t.on}
    db.close()
    return found


def press(widget, key, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(widget, key, modifiers)


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_it_opens_on_the_tree_with_the_focus(window, content):
    assert window.page.state == "content"
    assert window.focusWidget() is content.tree
    assert content.tree.isExpanded(content.model.index_of_server("slack"))


def test_space_ticks_a_tool_everywhere_and_undo_takes_it_back(window, content, ctx, qtbot):
    content.show_tool(window.live.catalog.find("github/search_code").tool.id)
    assert window.strip.total.text() == "3,295 tokens ≈"
    press(content.tree, Qt.Key.Key_Space)
    index = content.tree.currentIndex()
    assert index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked
    assert index.parent().data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.PartiallyChecked
    assert window.strip.total.text() == "1,883 tokens ≈"
    assert window.strip.on.text() == "4 of 6 tools on"
    assert window.status.message.text() == "Turned off search_code"
    assert window.status.undo.isVisible()
    assert window.commands.undo.text() == "&Undo Turn off search_code"
    settled(window, qtbot)
    assert "github/search_code" not in on_in_store(ctx)
    press(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
    assert window.strip.total.text() == "3,295 tokens ≈"
    assert window.status.message.text() == "Undone: Turn off search_code"
    settled(window, qtbot)
    assert "github/search_code" in on_in_store(ctx)
    press(window, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert window.strip.total.text() == "1,883 tokens ≈"


def test_several_tools_are_one_step_with_a_name(window, content):
    content.tree.open_server("github")
    press(content.tree, Qt.Key.Key_Down)
    press(content.tree, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    press(content.tree, Qt.Key.Key_Space)
    assert window.undo.count() == 1
    assert window.undo.text(0) == "Turn off 2 tools in github"
    assert window.status.message.text() == "Turned off 2 tools in github"


def test_the_same_tool_ticked_back_at_once_leaves_no_step(window, content):
    content.show_tool(window.live.catalog.find("time/now").tool.id)
    press(content.tree, Qt.Key.Key_Space)
    press(content.tree, Qt.Key.Key_Space)
    assert window.undo.count() == 0


def test_the_check_box_of_a_server_takes_its_tools(window, content):
    content.tree.open_server("time")
    index = content.tree.currentIndex()
    content.model.setData(index, Qt.CheckState.Unchecked.value, Qt.ItemDataRole.CheckStateRole)
    assert window.undo.text(0) == "Turn off 2 tools in time"
    assert window.strip.on.text() == "3 of 6 tools on"


def test_ticks_survive_a_restart(window, content, open_window, qtbot):
    content.show_tool(window.live.catalog.find("github/merge").tool.id)
    press(content.tree, Qt.Key.Key_Space)
    window.close()
    again = open_window()
    assert not again.live.catalog.find("github/merge").on


def test_the_sum_of_ticked_tools_is_the_strip(window, content):
    tools = [t for t in window.live.catalog.tools if t.shown]
    assert sum(t.tokens.host_text for t in tools) == window.strip.verdict.tokens


def test_the_filter_shows_exactly_what_matches_and_says_so(window, content, qtbot):
    press(content.tree, Qt.Key.Key_Slash)
    assert window.focusWidget() is content.filter.edit
    QTest.keyClicks(content.filter.edit, "server:github tokens:>900 is:on")
    press(content.filter.edit, Qt.Key.Key_Return)
    assert [t.tool.name for t in content.model.shown_tools()] == ["search_code", "merge"]
    assert window.status.result.text() == "Showing 2 of 6 tools, 2.4k ≈"
    assert content.tree.isExpanded(content.model.index_of_server("github"))
    press(content.filter.edit, Qt.Key.Key_Escape)
    assert len(content.model.shown_tools()) == 6
    assert window.status.result.text() == ""
    press(content.filter.edit, Qt.Key.Key_Escape)
    assert window.focusWidget() is content.tree


def test_a_wrong_filter_says_why_and_keeps_the_rows(window, content):
    content.filter.set_text("server:time")
    content.filter.set_text("server:time tokens:big")
    assert "needs a number" in content.filter.error.text()
    assert content.filter.error.isVisible()
    assert len(content.model.shown_tools()) == 2
    content.filter.clear()
    assert not content.filter.error.isVisible()


def test_typing_is_applied_after_a_rest(window, content, qtbot):
    QTest.keyClicks(content.filter.edit, "merge")
    qtbot.waitUntil(lambda: len(content.model.shown_tools()) == 1)


def test_a_filter_that_finds_nothing_says_so(window, content):
    content.filter.set_text("zebra")
    tree = window.catalog.content.tree
    assert tree.nothing.isVisible() and "No tool matches" in tree.nothing.text()
    tree.nothing.linkActivated.emit("#")
    assert not tree.nothing.isVisible() and window.catalog.content.filter.edit.text() == ""
    press(window, Qt.Key.Key_Escape)
    assert len(content.model.shown_tools()) == 6


def test_chips_are_saved_filters_with_counts(window, content):
    texts = [chip.text() for chip in content.filter.chips if chip.isVisible()]
    assert texts == ["Over 1k tokens 1", "Held back 1"]
    content.filter.chips[3].click()
    assert [t.tool.name for t in content.model.shown_tools()] == ["deploy"]


def test_tree_and_map_select_each_other(window, content, qtbot):
    field = content.map.fields[0]
    cell = field.cells[0]
    point = QPointF(cell.box.x + cell.box.width / 2, cell.box.y + cell.box.height / 2).toPoint()
    QTest.mouseClick(content.map, Qt.MouseButton.LeftButton, pos=point)
    assert content.tree.currentIndex().data() == "search_code"
    content.show_tool(window.live.catalog.find("github/merge").tool.id)
    assert content.map.cell_of(content.tree.selected_tools()[0].tool.id).items[0].name == "merge"


def test_the_map_is_in_proportion_and_hatches_what_is_off(window, content):
    areas = {f.group.name: f.box.width * f.box.height for f in content.map.fields}
    assert areas["github"] / areas["team"] == pytest.approx(3095 / 300, rel=0.1)
    tool = window.live.catalog.find("github/search_code").tool.id
    content.show_tool(window.live.catalog.find("time/now").tool.id)
    assert colors_in(content.map, tool) == 1
    window.live.set_on([tool], False)
    assert colors_in(content.map, tool) > 1


def colors_in(treemap, tool_id: int) -> int:
    """How many colours a line through the lower half of the cell meets."""
    box = treemap.cell_of(tool_id).box
    image = treemap.grab().toImage()
    y = int(box.y + box.height * 0.7)
    return len({image.pixel(int(box.x) + 6 + n, y) for n in range(int(box.width) - 12)})


def test_the_map_zooms_by_keyboard_and_back(window, content):
    content.map.setFocus()
    press(content.map, Qt.Key.Key_Right)
    assert content.tree.currentIndex().data() == "search_code"
    press(content.map, Qt.Key.Key_Return)
    assert content.map.zoomed == "github"
    press(window, Qt.Key.Key_Escape)
    assert content.map.zoomed == ""


def test_details_tell_where_the_tokens_are(window, content):
    content.show_tool(window.live.catalog.find("github/search_code").tool.id)
    assert content.details.title.text().replace("\u200b", "") == "search_code"
    said = content.details.findChildren(QPushButton)
    assert [b.text() for b in said if b.isVisible()] == [
        "Turn off",
        "Pin",
        "Copy",
        "Call by hand… (T)",
    ]
    content.details.buttons[0].click()
    assert window.undo.text(0) == "Turn off search_code"
    assert content.details.buttons[0].text() == "Turn on"
    content.details.buttons[0].click()
    content.details.buttons[1].click()
    assert window.live.catalog.find("github/search_code").pinned
    content.details.buttons[2].click()
    assert QGuiApplication.clipboard().text().startswith('{"name":"search_code"')


def test_a_failed_server_shows_its_reason_as_a_row_and_offers_another_try(window, content):
    content.tree.open_server("slack")
    press(content.tree, Qt.Key.Key_Down)
    assert content.tree.currentIndex().data() == "Could not start: exit code 1: no token"
    assert content.details.buttons[0].text() == "Try again"


def test_the_sidebar_counts_servers_that_failed(window):
    index = window.nav.model().index(0, 0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Catalog, 1"
    assert index.data(BADGE).word == "1"


def test_a_project_server_is_trusted_by_a_button(window, content, ctx, qtbot):
    content.tree.open_server("team")
    assert content.details.buttons[0].text() == "Trust server"
    content.details.buttons[0].click()
    qtbot.waitUntil(lambda: window.strip.on.text() == "6 of 6 tools on")


def test_copy_gives_cells_divided_by_tabs(window, content):
    content.show_tool(window.live.catalog.find("github/merge").tool.id)
    press(content.tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().split("\t")
    titles = [
        c.title
        for c in content.model.columns
        if not content.tree.isColumnHidden(place(content.model.columns, c.title))
    ]
    cells = dict(zip(titles, copied, strict=True))
    assert (cells[NAME], cells[TOKENS], cells[FLAGS]) == ("merge", "942", "Destructive")


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # menus, offscreen
def test_the_context_menu_acts_on_the_selection(window, content, qtbot):
    content.show_tool(window.live.catalog.find("github/merge").tool.id)
    place = content.tree.visualRect(content.tree.currentIndex()).center()
    where = content.tree.viewport().mapToGlobal(place)
    reason = QContextMenuEvent.Reason.Keyboard
    QApplication.sendEvent(content.tree.viewport(), QContextMenuEvent(reason, place, where))
    menu = content.tree.findChild(QMenu)
    texts = [action.text() for action in menu.actions()]
    assert texts == [
        "Turn &off",
        "&Pin",
        "&Why is it in or out?",
        "&Call by hand…",
        "&Edit summary…",
        "Edit &requests…",
        "Co&nditions…",
        'Show &only tool:"merge"',
        '&Hide tool:"merge"',
        "&Filter by this server",
    ]
    menu.actions()[-1].trigger()
    menu.close()
    assert content.filter.edit.text() == 'server:"github"'
    assert len(content.model.shown_tools()) == 3


def test_any_cell_gives_a_filter_by_its_value(window, content):
    content.show_tool(window.live.catalog.find("github/merge").tool.id)
    terms = {}
    for column in range(len(content.model.columns)):
        title = content.model.columns[column].title
        cell = content.tree.currentIndex().siblingAtColumn(column)
        tool = content.model.tool_at(cell)
        terms[title] = filter_term(title, str(cell.data() or ""), tool)
    assert (terms[NAME], terms[TOKENS]) == ('tool:"merge"', "tokens:942")
    assert (terms[FLAGS], terms[HOSTS]) == ("is:destructive", "")
    assert filter_term("Hosts", "Claude Desktop, Cursor", None) == 'host:"Claude Desktop"'
    for term in ("tokens:942", "-is:destructive"):
        content.filter.add_term(term)
    assert content.filter.edit.text() == "tokens:942 -is:destructive"
    assert content.model.shown_tools() == []


def test_w_asks_the_playground_why(window, content, qtbot):
    tool = window.live.catalog.find("github/merge").tool.id
    content.show_tool(tool)
    asked = []
    content.tree.why_requested.disconnect()
    content.tree.why_requested.connect(asked.append)
    press(content.tree, Qt.Key.Key_W)
    assert [row.tool.id for row in asked] == [tool]


def test_sorting_by_a_header_keeps_the_selection(window, content):
    content.show_tool(window.live.catalog.find("time/now").tool.id)
    content.tree.sortByColumn(place(content.model.columns, NAME), Qt.SortOrder.AscendingOrder)
    assert content.tree.currentIndex().data() == "now"
    assert content.tree.selected_tools()[0].tool.name == "now"
    assert (
        content.tree.currentIndex().siblingAtColumn(place(content.model.columns, TOKENS)).data()
        == "90"
    )


def test_a_change_by_another_process_is_shown(window, ctx, qtbot):
    db = ctx.open_store()
    from app.catalog.catalog import set_on

    set_on(db, "default", [window.live.catalog.find("time/now").tool.id], False)
    db.close()
    QApplication.sendEvent(window, QEvent(QEvent.Type.ActivationChange))
    qtbot.waitUntil(lambda: window.strip.on.text() == "4 of 6 tools on")


def calls_hidden(content):
    return content.tree.isColumnHidden(place(content.model.columns, CALLS))


def test_calls_are_shown_once_hosts_call_through_toolcrib(fill, open_window, ctx, qtbot):
    fill()
    before = open_window()
    settled(before, qtbot)
    assert calls_hidden(before.pages["catalog"].content)  # nobody can tell yet
    db, now = ctx.open_store(), ctx.clock()
    call = EventRecord(now - 3600, "call", tool="github/search_code")
    with transaction(db):
        events.add(db, [call, call])
    db.close()
    window = open_window()
    settled(window, qtbot)
    content = window.pages["catalog"].content
    assert not calls_hidden(content)
    content.filter.set_text("used:<7d")
    tools = content.model.shown_tools()
    assert [t.tool.name for t in tools] == ["search_code"]
    assert (
        content.model.index_of_tool(tools[0].tool.id)
        .siblingAtColumn(place(content.model.columns, CALLS))
        .data()
        == "2"
    )
    content.filter.set_text("used:never tool:merge")
    silent = content.model.shown_tools()[0].tool.id
    assert (
        content.model.index_of_tool(silent)
        .siblingAtColumn(place(content.model.columns, CALLS))
        .data()
        == "never"
    )


def test_a_tick_made_while_the_catalogue_is_read_stays(services, fill, qtbot):
    fill()
    services.live.load()
    qtbot.waitUntil(lambda: services.live.catalog is not None and services.tasks.idle)
    tool = services.live.catalog.find("time/now").tool.id
    services.live.load()
    services.live.set_on([tool], False)
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert not services.live.tool(tool).on
    assert services.live._own == 0


def test_a_filter_that_matches_nothing_leaves_nothing_selected_and_clearing_grows_nothing(
    window, content
):
    content.tree.selectAll()
    assert len(content.tree.selected_tools()) > 1
    content.filter.set_text("no-such-tool-anywhere")
    assert content.tree.selected_tools() == []
    assert content.details.title.text() == "Nothing selected"
    content.filter.clear()
    assert content.tree.selected_tools() == []


def test_a_tool_that_is_off_cannot_be_pinned(window, content):
    tool = window.live.catalog.tools[0]
    window.undo.push(Tick(window.live, [tool], False))
    content.show_tool(tool.tool.id)
    content.tree.pin_requested.emit(content.tree.selected_tools())
    assert not window.live.tool(tool.tool.id).pinned
    assert "Turn it on first" in window.status.message.text()
