"""What a filter line offers while it is typed, and the filters that are kept."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from ui.pages.activity.event_rows import STATES
from ui.widgets.filter_completion import completions
from ui.widgets.filter_query import IS, KEYS

VALUES = {"server": ["github", "gitlab", "my git"], "host": ["Claude Desktop", "Cursor"]}


def offered(text, cursor=None, keys=KEYS, states=IS):
    at = len(text) if cursor is None else cursor
    return completions(text, at, keys=keys, states=states, values=lambda key: VALUES.get(key, ()))


@pytest.mark.parametrize(
    ("text", "start", "terms"),
    [
        ("", 0, []),
        ("s", 0, ["server:"]),
        ("t", 0, ["tool:", "text:", "tokens:"]),
        ("hel", 0, ["is:held"]),
        ("is:d", 0, ["is:destructive", "is:held", "is:changed", "is:pinned", "is:readonly"]),
        ("is:on,of", 0, ["is:on,off"]),
        ("server:git", 0, ["server:github", "server:gitlab", 'server:"my git"']),
        ("x -server:hub", 2, ["-server:github"]),
        ('host:"claude d', 0, ['host:"Claude Desktop"']),
        ("tokens:", 0, ["tokens:>500", "tokens:>1k", "tokens:200..800"]),
        ("used:n", 0, ["used:never"]),
        ("server:github", 0, []),
        ("nothing:x", 0, []),
        ('"a phrase s', 0, []),
    ],
)
def test_what_is_offered(text, start, terms):
    assert offered(text) == (start, terms)


def test_only_the_term_at_the_cursor_is_completed():
    assert offered("server:git is:on", cursor=10) == (
        0,
        ["server:github", "server:gitlab", 'server:"my git"'],
    )


def test_each_table_has_its_own_keys_and_states():
    keys = ("server", "is")
    assert offered("u", keys=keys, states=STATES) == (0, [])
    assert offered("is:mi", keys=keys, states=STATES) == (0, ["is:miss"])


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def filter_of(window):
    line = window.pages["catalog"].content.filter
    line.edit.setFocus()
    return line


def test_tab_takes_the_first_and_offers_the_keys_values(window, qtbot):
    line = filter_of(window)
    QTest.keyClicks(line.edit, "ser")
    qtbot.waitUntil(line.edit.popup.isVisible, timeout=20_000)
    QTest.keyClick(line.edit, Qt.Key.Key_Tab)
    assert line.edit.text() == "server:"
    qtbot.waitUntil(line.edit.popup.isVisible, timeout=20_000)
    QTest.keyClicks(line.edit, "sla")
    QTest.keyClick(line.edit, Qt.Key.Key_Tab)
    assert line.edit.text() == "server:slack"
    assert not line.edit.popup.isVisible()


def test_down_and_enter_take_one_and_enter_alone_takes_the_line(window, qtbot):
    line = filter_of(window)
    QTest.keyClicks(line.edit, "is:o")
    qtbot.waitUntil(line.edit.popup.isVisible, timeout=20_000)
    QTest.keyClick(line.edit.popup, Qt.Key.Key_Down)
    QTest.keyClick(line.edit.popup, Qt.Key.Key_Down)
    QTest.keyClick(line.edit.popup, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: line.edit.text() == "is:off", timeout=20_000)
    QTest.keyClicks(line.edit, " ti")
    QTest.keyClick(line.edit, Qt.Key.Key_Return)
    assert line.edit.text() == "is:off ti"


def test_hosts_and_tools_that_there_are_complete(window):
    line = filter_of(window)
    line.edit.setText("host:cur")
    assert line._offers("host:cur", 8) == (0, ["host:Cursor"])
    assert line._offers("tool:mer", 8) == (0, ["tool:merge"])


def actions(menu):
    return {action.text().replace("&", ""): action for action in menu.actions()}


def test_filters_are_kept_taken_and_removed_and_come_back_with_the_window(window, open_window):
    line = filter_of(window)
    line.set_text("is:on tokens:>500")
    menu = line.open_kept()
    actions(menu)["Save is:on tokens:>500"].trigger()
    menu.close()
    line.clear()
    window.close()
    line = filter_of(open_window())
    menu = line.open_kept()
    assert not actions(menu)["Save this filter"].isEnabled()
    actions(menu)["is:on tokens:>500"].trigger()
    assert line.edit.text() == "is:on tokens:>500"
    menu.close()
    menu = line.open_kept()
    assert not actions(menu)["Save is:on tokens:>500"].isEnabled()  # it is kept already
    actions(actions(menu)["Remove"].menu())["is:on tokens:>500"].trigger()
    menu.close()
    assert line.kept == []


def test_a_wrong_line_cannot_be_kept(window):
    line = filter_of(window)
    line.set_text("is:nothing")
    menu = line.open_kept()
    assert not actions(menu)["Save is:nothing"].isEnabled()
    menu.close()


def test_escape_closes_the_offer_then_clears_the_line_then_leaves_it(window, qtbot):
    line, page = filter_of(window), window.pages["catalog"]
    QTest.keyClicks(line.edit, "serv")
    qtbot.waitUntil(line.edit.popup.isVisible, timeout=20_000)
    page.escape()
    assert not line.edit.popup.isVisible()
    assert line.edit.text() == "serv"
    page.escape()
    assert line.edit.text() == ""
    page.escape()
    assert page.content.tree.hasFocus()
    QTest.keyClicks(line.edit, "serv")
    qtbot.waitUntil(line.edit.popup.isVisible, timeout=20_000)
    line.set_text("is:off")  # a chip, a menu: the offer was about another line
    assert not line.edit.popup.isVisible()
