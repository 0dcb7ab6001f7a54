"""Columns that are chosen, moved and kept; rows that are copied; names that keep their room."""

import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from store import events
from store.connection import transaction
from store.records import EventRecord
from ui.pages.catalog.tree import NAME_LEAST
from ui.pages.catalog.tree_cells import CALLS, FLAGS, HOSTS, NAME, TOKENS
from ui.widgets.columns import place
from ui.widgets.table_tools import tools_of


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def tree_of(window):
    return window.pages["catalog"].content.tree


def number(tree, title):
    return place(tree.model().columns, title)


def test_columns_are_chosen_in_the_heading_menu(window):
    tree = tree_of(window)
    menu = tools_of(tree).open_menu(QPoint(0, 0))
    actions = {action.text(): action for action in menu.actions()}
    name, *others = [column.title for column in tree.model().columns]
    assert name == NAME and list(actions)[: len(others)] == others  # the name always stays
    assert actions[FLAGS].isChecked()
    actions[FLAGS].trigger()
    assert tree.isColumnHidden(number(tree, FLAGS))
    menu.close()


def test_the_columns_are_reached_from_the_view_menu(window):
    action = next(e for e in window.commands.entries() if e.text == "Columns…")
    action.run()
    menu = next(m for m in tree_of(window).findChildren(QMenu) if m.isVisible())
    assert menu.actions()[0].text() == TOKENS
    menu.close()


def test_chosen_and_moved_columns_come_back_with_the_window(window, open_window):
    tree = tree_of(window)
    tools_of(tree).choose(number(tree, HOSTS), False)
    tree.header().moveSection(number(tree, FLAGS), number(tree, TOKENS))
    columns = range(len(tree.model().columns))
    order = [tree.header().visualIndex(n) for n in columns]
    window.close()
    again = tree_of(open_window())
    assert again.isColumnHidden(number(again, HOSTS))
    assert [again.header().visualIndex(n) for n in columns] == order
    tools_of(again).reset()
    assert not again.isColumnHidden(number(again, HOSTS))
    assert again.header().visualIndex(number(again, FLAGS)) == number(again, FLAGS)


def test_a_hidden_column_keeps_its_width_at_another_text_size(window, theme):
    tree = tree_of(window)
    column = number(tree, HOSTS)
    tree.setColumnHidden(column, False)
    tree.setColumnWidth(column, 200)
    tree.setColumnHidden(column, True)
    theme.widen(tree.header(), before=200)  # kept at 200 %, shown at 100
    assert tree.isColumnHidden(column)
    tree.setColumnHidden(column, False)
    assert tree.columnWidth(column) == 100


def test_what_the_user_chose_wins_over_what_room_there_is(window):
    tree = tree_of(window)
    hosts = number(tree, HOSTS)
    window.resize(1024, 640)
    assert tree.isColumnHidden(hosts)
    tools_of(tree).choose(hosts, True)
    window.resize(1030, 640)
    assert not tree.isColumnHidden(hosts)


def test_copy_takes_the_columns_in_view_in_their_order(window):
    tree = tree_of(window)
    for column in tree.model().columns:
        tools_of(tree).choose(number(tree, column.title), column.title in (NAME, TOKENS))
    tree.open_server("github")
    QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "github\t3,095"


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_names_keep_their_room_at_any_text_size(window, theme, zoom):
    theme.set_zoom(zoom)
    window.resize(1024, 640)
    tree = tree_of(window)
    tree.open_server("github")
    metrics = tree.fontMetrics()
    for row in range(3):
        index = tree.model().index(row, 0, tree.model().index_of_server("github"))
        text = metrics.horizontalAdvance(index.data())
        room = tree.visualRect(index).width() - 50 * zoom // 100  # check box and icon
        assert room >= text, index.data()
    window.resize(1280, 800)
    theme.set_zoom(100)
    assert tree.columnWidth(number(tree, TOKENS)) == 170
    assert tree.columnWidth(number(tree, NAME)) > 200


def test_a_column_of_calls_takes_no_room_from_names(window, qtbot, ctx):
    window.resize(900, 640)
    tree = tree_of(window)
    assert tree.isColumnHidden(number(tree, CALLS))
    db = ctx.open_store()
    with transaction(db):
        events.add(db, [EventRecord(time.time() - 60, "call", tool="github/search_code")])
    db.close()
    window.live.refresh()
    qtbot.waitUntil(lambda: not tree.isColumnHidden(number(tree, CALLS)), timeout=20_000)
    assert tree.columnWidth(number(tree, NAME)) >= NAME_LEAST


def test_compact_rows_fit_more_and_are_kept(window, qtbot, ctx):
    tree = tree_of(window)
    usual = tree.visualRect(tree.model().index(0, 0)).height()
    action = next(e for e in window.commands.entries() if e.text == "Compact rows")
    action.run()
    qtbot.waitUntil(
        lambda: tree.visualRect(tree.model().index(0, 0)).height() == usual - 4, timeout=20_000
    )
    assert ctx.settings.dense
    action.run()
    qtbot.waitUntil(
        lambda: tree.visualRect(tree.model().index(0, 0)).height() == usual, timeout=20_000
    )
    assert not ctx.settings.dense


def test_compact_rows_are_a_setting_too(window, qtbot):
    from ui.windows.settings_dialog import SettingsDialog

    window.commands.open_settings()
    dialog = window.findChild(SettingsDialog)
    dialog.look.fields["dense"].click()
    assert window.live and window.commands._services.theme.dense
    dialog.look.fields["dense"].click()
    assert not window.commands._services.theme.dense
    dialog.reject()
