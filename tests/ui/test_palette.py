"""The command palette: everything is found by its name, by keys alone."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from ui.windows.palette_entries import COMMAND, SERVER, TERM, TOOL, Entry, matches, score

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def texts(window):
    model = window.finder.model
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def open_palette(window):
    QTest.keyClick(window, Qt.Key.Key_K, CTRL)
    assert window.finder.isVisible()
    return window.finder


def test_ctrl_k_turn_off_git_enter(window, qtbot):
    palette = open_palette(window)
    assert palette.line.hasFocus()
    QTest.keyClicks(palette.line, "turn off git")
    assert texts(window)[0] == "Turn off github"
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isHidden()
    assert not any(t.on for t in window.live.catalog.tools if t.server.name == "github")
    assert window.undo.undoText() == "Turn off 3 tools in github"
    open_palette(window)
    QTest.keyClicks(palette.line, "turn on git")
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert all(t.on for t in window.live.catalog.tools if t.server.name == "github")


def test_every_menu_action_is_found_by_its_text(window):
    palette = open_palette(window)
    actions = window.commands.entries()
    assert {"Open config…", "Read tools…", "Playground", "Quit", "Appearance: Dark"} <= {
        e.text for e in actions
    }
    for entry in actions:
        palette.line.setText(f"> {entry.text}")
        assert entry.text in texts(window)[:2], entry.text


def test_escape_gives_the_focus_back(window):
    window.catalog.content.tree.setFocus()
    palette = open_palette(window)
    QTest.keyClick(palette.line, Qt.Key.Key_Escape)
    assert palette.isHidden()
    assert window.catalog.content.tree.hasFocus()


def test_a_tool_is_shown_and_asked_about(window, qtbot):
    palette = open_palette(window)
    QTest.keyClicks(palette.line, "#search")
    assert texts(window)[0] == "github/search_code"
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.catalog.content.details.title.text().replace("\u200b", "") == "search_code"
    asked = []
    window.live.why.connect(asked.append)
    open_palette(window)
    QTest.keyClicks(palette.line, "#search")
    QTest.keyClick(palette.line, Qt.Key.Key_Return, CTRL)
    assert window.page is window.pages["playground"]
    assert asked == [window.live.catalog.find("github/search_code").tool.id]


def test_a_server_is_opened_and_a_term_explained(window):
    palette = open_palette(window)
    QTest.keyClicks(palette.line, "@time")
    assert texts(window) == ["time"]
    palette.list.clicked.emit(palette.list.currentIndex())
    assert palette.isHidden()
    open_palette(window)
    QTest.keyClicks(palette.line, "?held")
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    (dialog,) = [d for d in window.findChildren(QDialog) if d.isVisible()]
    assert dialog.windowTitle() == "What do the numbers mean?"
    dialog.reject()


def test_arrows_move_tab_completes_and_nothing_is_said(window):
    palette = open_palette(window)
    first = texts(window)[0]
    QTest.keyClick(palette.line, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 1
    QTest.keyClick(palette.line, Qt.Key.Key_Up)
    QTest.keyClick(palette.line, Qt.Key.Key_Up)
    assert palette.list.currentIndex().data() == first
    QTest.keyClick(palette.line, Qt.Key.Key_Tab)
    assert palette.line.text() == first
    palette.line.setText("zzqx")
    assert palette.nothing.isVisible()
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isVisible()
    window.nav.setFocus()
    assert palette.isHidden()


def test_the_toolbar_opens_it(window):
    window.commands.search.click()
    assert window.finder.isVisible()
    window.finder.shut()


def entry(kind, text):
    return Entry(kind, text, "", lambda: None)


def test_beginnings_of_words_come_first():
    names = ["github/digit_sum", "git/git_status", "files/legit"]
    entries = [entry(TOOL, name) for name in names]
    assert [e.text for e in matches(entries, "git")] == [
        "git/git_status",
        "github/digit_sum",
        "files/legit",
    ]
    assert [e.text for e in matches(entries, "git status")] == ["git/git_status"]
    assert [e.text for e in matches(entries, "#fleg")] == ["files/legit"]
    assert matches(entries, "@git") == []


def test_nothing_typed_shows_the_commands():
    entries = [entry(TOOL, "a/b"), entry(COMMAND, "Quit"), entry(SERVER, "a"), entry(TERM, "top-k")]
    assert [e.text for e in matches(entries, "")] == ["Quit"]
    assert [e.text for e in matches(entries, "?")] == ["top-k"]
    assert matches([entry(COMMAND, "Open config…"), *entries], "")[0].text == "Open config…"
    assert score("Quit", ["x"]) == 0.0
