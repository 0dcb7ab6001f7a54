"""Preconditions and scopes in the window: in Settings by pattern, at a tool by its name."""

import pytest
from PySide6.QtWidgets import QApplication

from app.catalog.catalog import load_catalog
from ui.pages.catalog.condition_dialog import ConditionDialog
from ui.windows.settings_dialog import SettingsDialog


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def settings(window):
    window.commands.open_settings()
    dialog = window.findChild(SettingsDialog)
    yield dialog
    dialog.reject()


def stored(ctx):
    db = ctx.open_store()
    try:
        return load_catalog(db).settings
    finally:
        db.close()


def type_rules(dialog, name, text):
    lines = dialog.profile.fields[name]
    lines.setPlainText(text)
    lines.left.emit()


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)


def test_rules_are_kept_for_the_profile_and_undone(window, settings, qtbot, ctx):
    type_rules(settings, "preconditions", "github/merge: after(github/search_code)")
    type_rules(settings, "scopes", "time/*: user:ann, role:ops")
    settled(window, qtbot)
    assert stored(ctx).preconditions == {"github/merge": ["after(github/search_code)"]}
    assert stored(ctx).scopes == {"time/*": ["user:ann", "role:ops"]}
    assert not settings.problem.isVisible()
    window.undo.undo()
    settled(window, qtbot)
    assert (stored(ctx).scopes, settings.profile.fields["scopes"].toPlainText()) == ({}, "")
    assert settings.profile.fields["preconditions"].toPlainText().startswith("github/merge: after")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("github/merge: whenever", "“whenever” is not a precondition."),
        ("github/merge", "“github/merge” is not understood."),
    ],
)
def test_what_is_no_rule_is_refused_in_words_and_stays_to_be_mended(
    window, settings, qtbot, ctx, text, words
):
    type_rules(settings, "preconditions", text)
    settled(window, qtbot)
    assert settings.problem.isVisible() and words in settings.problem.text()
    assert settings.profile.fields["preconditions"].toPlainText() == text
    assert stored(ctx).preconditions == {} and not window.undo.count()
    assert "Not kept" in window.status.message.text()
    type_rules(settings, "preconditions", "github/merge: milestone(ready)")
    settled(window, qtbot)
    assert not settings.problem.isVisible()
    assert stored(ctx).preconditions == {"github/merge": ["milestone(ready)"]}


def test_leaving_lines_that_nobody_changed_is_no_step(window, settings, qtbot):
    settings.profile.fields["scopes"].left.emit()
    type_rules(settings, "scopes", "  \n")
    settled(window, qtbot)
    assert not window.undo.count()


def test_the_focus_leaving_keeps_what_was_typed(window, settings, qtbot, ctx):
    settings.every.click()  # rules are an advanced setting
    lines = settings.profile.fields["scopes"]
    lines.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is lines, timeout=20_000)
    lines.setPlainText("time/now: user:ann")
    settings.search.setFocus()
    settled(window, qtbot)
    assert stored(ctx).scopes == {"time/now": ["user:ann"]}


@pytest.fixture
def form(window):
    content = window.page.content
    tool = window.live.catalog.find("github/merge")
    content.show_tool(tool.tool.id)

    def open_it():
        content.tree.conditions_wanted.emit(tool)
        return content.findChild(ConditionDialog)

    return open_it


def test_a_tools_own_conditions_are_one_step_and_stand_in_its_details(window, form, qtbot, ctx):
    dialog = form()
    dialog.needs.setText("after(github/search_code), milestone(ready)")
    dialog.principals.setText("user:ann")
    dialog.save.click()
    settled(window, qtbot)
    assert stored(ctx).preconditions == {
        "github/merge": ["after(github/search_code)", "milestone(ready)"]
    }
    assert stored(ctx).scopes == {"github/merge": ["user:ann"]}
    assert window.undo.undoText() == "Edit conditions of merge"
    text = window.page.content.details._text.text()
    assert "Only for user:ann." in text and "Precondition: milestone(ready)." in text
    window.undo.undo()
    settled(window, qtbot)
    assert (stored(ctx).preconditions, stored(ctx).scopes) == ({}, {})
    assert "Precondition" not in window.page.content.details._text.text()


def test_the_form_stays_open_until_the_rules_can_be_used(form, window, qtbot, ctx):
    dialog = form()
    dialog.needs.setText("after github/search_code")
    dialog.save.click()
    assert dialog.isVisible() and "is not a precondition" in dialog.problem.text()
    assert dialog.problem.height() >= dialog.problem.heightForWidth(dialog.problem.width())
    dialog.needs.setText("")
    dialog.save.click()
    settled(window, qtbot)
    assert not window.undo.count()


def test_emptied_lines_take_the_rules_out_and_patterns_are_named(
    form, window, settings, qtbot, ctx
):
    type_rules(settings, "scopes", "github/*: role:ops\ngithub/merge: user:ann")
    settled(window, qtbot)
    dialog = form()
    assert dialog.principals.text() == "user:ann"
    assert any(
        "Also by a pattern: github/*: role:ops" in w.text()
        for w in dialog.findChildren(type(dialog.problem))
    )
    dialog.principals.clear()
    dialog.save.click()
    settled(window, qtbot)
    assert stored(ctx).scopes == {"github/*": ["role:ops"]}
