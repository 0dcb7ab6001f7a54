"""Profiles in the window: which is in view, new, renamed and deleted ones, all undoable."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from app.catalog.catalog import load_catalog
from app.core.settings import BudgetSettings, with_settings
from app.policy import profiles
from store import exports
from store.connection import transaction
from store.errors import StoreError
from store.records import ExportRecord
from ui.shell.actions import SettingsCommand, Tick
from ui.windows.profile_commands import AddProfile, ShowProfile
from ui.windows.profile_menu import ProfileDialog


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
    assert window.undo.text(2) == "Rename profile work to team & co"
    window.undo.undo()
    settled(window, qtbot)
    assert window.live.profile == "work"
    assert list(choices(window)) == ["default", "work"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "A profile needs a name."),
        ("default", "There is a profile called default already."),
        ("-x", "A name begins with no - or blank, ends with no blank, and can be seen."),
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


def got(db, profile):
    """Cursor gets the profile."""
    record = ExportRecord(0, 1.0, "cursor", "user", "/x/mcp.json", "through", profile, "a", "b", "")
    with transaction(db):
        exports.add(db, record)


def test_a_profile_that_a_host_gets_is_neither_renamed_nor_deleted(window, qtbot, db):
    add(window, qtbot, "work")
    got(db, "work")
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


def outside(ctx, change):
    """What another process does meanwhile."""
    db = ctx.open_store()
    try:
        return change(db)
    finally:
        db.close()


def test_until_another_profile_is_read_nothing_in_view_can_be_changed(window, qtbot):
    add(window, qtbot, "work")
    tree = window.catalog.content.tree
    tree.setFocus()
    choices(window)["default"].trigger()
    assert not window.stack.isEnabled() and not window.strip.isEnabled()
    settled(window, qtbot)
    assert window.stack.isEnabled() and window.strip.isEnabled()
    assert window.focusWidget() is tree


def test_steps_taken_back_at_once_concern_the_profile_they_were_made_in(window, qtbot, ctx):
    add(window, qtbot, "work")
    turn_off(window, "deploy")
    window.live.change_settings({"budget": BudgetSettings(tokens=999)})
    settled(window, qtbot)
    old = window.live.catalog.settings
    new = with_settings(old, {"budget.tokens": 111})
    window.undo.push(SettingsCommand(window.live, old, new, "Set budget"))
    choices(window)["default"].trigger()
    settled(window, qtbot)
    window.undo.undo()
    window.undo.undo()
    window.undo.undo()
    settled(window, qtbot)
    work = outside(ctx, lambda db: load_catalog(db, "work").settings)
    default = outside(ctx, lambda db: load_catalog(db, "default").settings)
    assert (work.budget.tokens, default.budget.tokens) == (999, BudgetSettings().tokens)
    assert "deploy" in on(ctx, "work")
    assert {t.tool.name for t in window.live.catalog.tools if t.on} == on(ctx, "work")


def test_a_profile_that_somebody_else_made_is_not_undone(window, qtbot, ctx):
    add(window, qtbot, "work")
    window.undo.undo()
    settled(window, qtbot)
    outside(ctx, lambda db: profiles.create(db, "work"))
    window.undo.redo()
    settled(window, qtbot)
    assert "There is a profile called work already." in window.page.messages.text
    assert window.live.profile == "default"
    window.undo.undo()
    settled(window, qtbot)
    assert outside(ctx, profiles.names) == ("default", "work")


def test_a_refused_step_leaves_the_profile_in_view_and_says_why(window, qtbot, ctx):
    add(window, qtbot, "work")
    press(window, "Profile: Rename…")
    settled(window, qtbot)
    name_it(window, "team")
    settled(window, qtbot)
    outside(ctx, lambda db: got(db, "team"))
    window.undo.undo()
    settled(window, qtbot)
    assert "Cursor gets the profile team." in window.page.messages.text
    assert window.live.profile == "team"
    assert window.undo.count() == 0  # the steps before were made in another one


def test_a_refused_delete_done_again_keeps_the_profile_in_view(window, qtbot, ctx):
    add(window, qtbot, "work")
    press(window, "Profile: Delete work")
    settled(window, qtbot)
    window.undo.undo()
    settled(window, qtbot)
    outside(ctx, lambda db: got(db, "work"))
    window.undo.redo()
    settled(window, qtbot)
    assert "Cursor gets the profile work." in window.page.messages.text
    assert window.live.profile == "work"
    assert outside(ctx, profiles.names) == ("default", "work")
    assert window.undo.count() == 0


def test_a_profile_that_cannot_be_read_leaves_the_one_in_view_usable(window, qtbot, monkeypatch):
    add(window, qtbot, "work")

    def broken(*_args):
        raise StoreError("The store is busy.", "Try again.")

    monkeypatch.setattr("ui.shell.live_catalog.load_catalog", broken)
    choices(window)["default"].trigger()
    settled(window, qtbot)
    assert "The store is busy." in window.page.messages.text
    assert window.stack.isEnabled() and window.live.profile == "work"
    monkeypatch.undo()
    choices(window)["default"].trigger()
    settled(window, qtbot)
    assert window.live.profile == "default"


def test_writes_that_cross_do_not_leave_the_window_reading_for_ever(window, qtbot, ctx):
    outside(ctx, lambda db: profiles.create(db, "gone"))
    window.live.load()
    settled(window, qtbot)
    outside(ctx, lambda db: profiles.forget(db, "gone"))
    window.undo.push(AddProfile(window.tasks, window.live, "work"))
    window.undo.push(ShowProfile(window.live, "gone"))
    turn_off(window, "deploy")
    settled(window, qtbot)
    assert window.live.profile == "default"


def test_a_name_with_an_ampersand_is_found_as_it_is(window, qtbot):
    add(window, qtbot, "R&D")
    assert "Profile: R&D" in {entry.text for entry in window.commands.entries()}
    assert window.undo.text(0) == "Add profile R&D"
    assert window.commands.undo.text() == "&Undo Add profile R&&D"
