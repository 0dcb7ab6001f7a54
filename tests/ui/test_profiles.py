"""Profiles in the window: which is in view, new, renamed and deleted ones, all undoable."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from app import profiles
from app.catalog import load_catalog
from store import exports
from store.connection import transaction
from store.records import ExportRecord
from ui.actions import Tick
from ui.views.profile_dialog import ProfileDialog


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def choices(window):
    return {a.data(): a for a in window.commands.profiles.actions() if a.isCheckable()}


def press(window, words):
    entries = {e.text: e for e in window.commands.entries()}
    entries[words].run()


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle)


def name_it(window, name):
    dialog = window.findChild(ProfileDialog)
    dialog.name.setText(name)
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    return dialog


def add(window, qtbot, name):
    press(window, "Profile: New profile…")
    name_it(window, name)
    settled(window, qtbot)


def turn_off(window, name):
    tools = [t for t in window.live.catalog.tools if t.tool.name == name]
    window.undo.push(Tick(window.live, tools, False))


def on(ctx, profile):
    db = ctx.open_store()
    try:
        return {t.tool.name for t in load_catalog(db, profile).tools if t.on}
    finally:
        db.close()


def test_a_new_profile_is_a_copy_with_ticks_of_its_own(window, qtbot, ctx):
    turn_off(window, "search_code")
    add(window, qtbot, "work")
    assert window.strip.profile.text() == "Profile: work"
    assert window.windowTitle() == "work – Toolcrib"
    assert choices(window)["work"].isChecked()
    assert window.undo.undoText() == "Add profile work"
    turn_off(window, "deploy")
    settled(window, qtbot)
    everything = {t.tool.name for t in window.live.catalog.tools}
    assert on(ctx, "work") == everything - {"search_code", "deploy"}
    assert on(ctx, "default") == everything - {"search_code"}


def test_undo_goes_back_to_the_profile_that_a_tick_was_made_in(window, qtbot, ctx):
    add(window, qtbot, "work")
    turn_off(window, "deploy")
    choices(window)["default"].trigger()
    settled(window, qtbot)
    assert (window.live.profile, window.undo.undoText()) == ("default", "Switch to profile default")
    turn_off(window, "merge")
    for _ in range(4):
        window.undo.undo()
        settled(window, qtbot)
    assert window.live.profile == "default"
    assert list(choices(window)) == ["default"]
    for _ in range(4):
        window.undo.redo()
        settled(window, qtbot)
    assert "deploy" not in on(ctx, "work")
    assert "merge" in on(ctx, "work")
    assert "merge" not in on(ctx, "default")


def test_a_deleted_profile_comes_back_with_its_ticks(window, qtbot, ctx):
    add(window, qtbot, "work")
    turn_off(window, "deploy")
    settled(window, qtbot)
    press(window, "Profile: Delete work")
    settled(window, qtbot)
    assert window.live.profile == "default"
    assert list(choices(window)) == ["default"]
    window.undo.undo()
    settled(window, qtbot)
    assert window.live.profile == "work"
    assert "deploy" not in on(ctx, "work")


def test_another_name_keeps_everything(window, qtbot, ctx):
    add(window, qtbot, "work")
    turn_off(window, "deploy")
    press(window, "Profile: Rename…")
    settled(window, qtbot)
    name_it(window, "team & co")
    settled(window, qtbot)
    assert window.strip.profile.text() == "Profile: team && co"
    assert "deploy" not in on(ctx, "team & co")
    assert window.undo.undoText() == "Rename profile work to team & co"
    window.undo.undo()
    settled(window, qtbot)
    assert window.live.profile == "work"
    assert list(choices(window)) == ["default", "work"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "A profile needs a name."),
        ("default", "There is a profile called default already."),
        ("-x", "A name begins with no - or blank, ends with no blank, and has no line ends."),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_the_form(window, name, problem):
    press(window, "Profile: New profile…")
    dialog = name_it(window, name)
    assert dialog.isVisible()
    assert dialog.problem.text() == problem
    QTest.keyClick(dialog.name, Qt.Key.Key_Escape)
    assert dialog.result() == QDialog.DialogCode.Rejected
    assert window.undo.count() == 0


def test_the_default_profile_stays(window):
    menu = window.commands.profiles
    assert not menu.rename.isEnabled()
    assert not menu.delete.isEnabled()


def test_a_profile_that_a_host_gets_is_neither_renamed_nor_deleted(window, qtbot, db):
    add(window, qtbot, "work")
    with transaction(db):
        exports.add(
            db,
            ExportRecord(
                id=0,
                at=1.0,
                host="cursor",
                scope="user",
                file="/x/mcp.json",
                mode="through",
                profile="work",
                before_hash="a",
                after_hash="b",
                backup="",
            ),
        )
    for words in ("Profile: Delete work", "Profile: Rename…"):
        press(window, words)
        settled(window, qtbot)
        assert "Cursor gets the profile work." in window.page.messages.text
        assert window.undo.undoText() == "Add profile work"
    assert profiles.names(db) == ("default", "work")


def test_the_window_opens_with_the_profile_it_was_closed_with(window, qtbot, open_window):
    add(window, qtbot, "work")
    window.close()
    again = open_window()
    assert again.live.profile == "work"
    assert again.strip.profile.text() == "Profile: work"


def test_a_profile_that_the_command_line_deleted_is_left_with_a_word(window, qtbot, db):
    add(window, qtbot, "work")
    turn_off(window, "deploy")
    settled(window, qtbot)
    profiles.forget(db, "work")
    window.live.refresh()
    settled(window, qtbot)
    assert window.live.profile == "default"
    assert "The profile work is gone" in window.page.messages.text
    assert not window.undo.canUndo()
