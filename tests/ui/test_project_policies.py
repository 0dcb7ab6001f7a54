"""A project's policy file is shown in the window, and counts once it is trusted there."""

import time

import pytest

from app.policy.project_policy import known_policies, read_project_policy
from ui.shell.project_policies import PoliciesDialog

TEXT = """version = 1
servers = ["github", "elsewhere"]

[tools]
off = ["github/merge*"]
confirm = ["github/create_*"]
"""


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    file = folder / ".toolcrib.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def meet(ctx, file):
    """As the gateway of a session in the project does."""
    db = ctx.open_store()
    try:
        return read_project_policy(db, str(file), time.time())
    finally:
        db.close()


def known(ctx):
    db = ctx.open_store()
    try:
        return known_policies(db)
    finally:
        db.close()


@pytest.fixture
def dialog(window, ctx, file, qtbot):
    """The dialog over one file that a session met."""
    meet(ctx, file)
    window.policies.look()
    qtbot.waitUntil(lambda: window.policies.isVisible())
    window.policies.show_it.click()
    dialog = window.findChild(PoliciesDialog)
    qtbot.waitUntil(lambda: dialog.list.count() == 1)
    yield dialog
    dialog.close()


def test_a_file_that_no_session_met_is_not_asked_about(window, file, qtbot):
    window.policies.look()
    qtbot.waitUntil(lambda: window.tasks.idle)
    assert window.policies.isHidden()
    entries = {e.text: e for e in window.commands.entries()}
    entries["Profile: Project policies…"].run()
    dialog = window.findChild(PoliciesDialog)
    qtbot.waitUntil(lambda: window.tasks.idle)
    assert dialog.empty.text.text() == "No policy file yet" and dialog.empty.isVisible()
    dialog.close()


def test_the_window_says_that_a_file_waits_and_what_it_would_leave(dialog, window, file):
    assert str(file) in window.policies.text.text()
    assert "changes nothing until you trust it" in window.policies.text.text()
    assert dialog.text.toPlainText() == TEXT
    catalog = window.live.catalog
    left = [t for t in catalog.shown if t.server.name == "github" and "merge" not in t.tool.name]
    tokens = sum(t.cost for t in left)
    assert f"It leaves {len(left)} of {len(catalog.shown)} tools" in dialog.effect.text()
    assert f"{tokens:,} of {window.live.total:,} tokens" in dialog.effect.text()
    assert "elsewhere: the profile does not have this server" in dialog.effect.text()
    assert "Calls wait for your yes: github/create_*." in dialog.notes.text()
    assert dialog.state.badge.word == "Not yet trusted"


def test_trust_counts_and_is_taken_back_by_undo(dialog, window, ctx, qtbot):
    dialog.trust.click()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Trusted")
    assert known(ctx)[0].counts and window.policies.isHidden()
    assert not dialog.trust.isEnabled() and dialog.later.text() == "Trust no more"
    window.undo.undo()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Not yet trusted")
    assert not known(ctx)[0].counts
    window.undo.redo()
    qtbot.waitUntil(lambda: known(ctx)[0].counts)
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_not_now_ends_the_question_until_the_text_changes(dialog, window, ctx, file, qtbot):
    dialog.later.click()
    qtbot.waitUntil(window.policies.isHidden)
    qtbot.waitUntil(lambda: "put it off" in dialog.meaning.text())
    assert not known(ctx)[0].counts
    file.write_text(f"{TEXT}# more\n")
    window.policies.look()
    qtbot.waitUntil(window.policies.isVisible)
    window.policies.later.click()
    qtbot.waitUntil(window.policies.isHidden)
    window.undo.undo()
    qtbot.waitUntil(window.policies.isVisible)


def test_a_text_that_changed_after_trust_is_shown_beside_the_trusted_one(
    dialog, window, ctx, file, qtbot
):
    dialog.trust.click()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Trusted")
    file.write_text(TEXT.replace("merge*", "list*"))
    dialog.refresh()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Changed")
    assert "merge*" in dialog.diff.before.toPlainText()
    assert "list*" in dialog.diff.after.toPlainText()
    assert not known(ctx)[0].counts
    window.policies.look()
    qtbot.waitUntil(lambda: "changed after you trusted it" in window.policies.text.text())


def test_only_the_text_that_was_shown_is_trusted(dialog, ctx, file, qtbot):
    file.write_text("version = 1\n")  # after it was shown
    dialog.trust.click()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Changed")
    assert not known(ctx)[0].counts


def test_a_file_that_cannot_be_used_names_its_line_and_cannot_be_trusted(dialog, file, qtbot):
    file.write_text("version = 1\n[tools]\nof = []\n")
    dialog.refresh()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Cannot be used")
    assert "line 3: tools.of is not a key" in dialog.meaning.text()
    assert not dialog.trust.isEnabled() and not dialog.later.isEnabled()


def test_a_trusted_text_can_be_trusted_no_more(dialog, ctx, qtbot):
    dialog.trust.click()
    qtbot.waitUntil(lambda: dialog.later.text() == "Trust no more" and dialog.later.isEnabled())
    dialog.later.click()
    qtbot.waitUntil(lambda: dialog.state.badge.word == "Not yet trusted")
    assert not known(ctx)[0].counts
