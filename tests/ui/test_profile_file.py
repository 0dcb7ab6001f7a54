"""The policy file of a profile in the window: chosen, edited with a preview, taken back."""

import tomllib

import pytest

from app.export.policy_writing import import_file, use_file
from ui.shell.actions import SettingsCommand, Tick
from ui.windows.profile_file_dialog import ProfileFileDialog

TEXT = """version = 1

[budget]
max_schema_tokens = 9000  # measured

[tools]
off = ["github/merge"]
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def dialog(window, qtbot):
    entries = {e.text: e for e in window.commands.entries()}
    entries["Profile: Policy file…"].run()
    dialog = window.findChild(ProfileFileDialog)
    qtbot.waitUntil(lambda: "keeps its values in Toolcrib" in dialog.own.text.text())
    yield dialog
    dialog.close()


@pytest.fixture
def used(dialog, window, file, qtbot):
    dialog.take_file(use_file, "Use a file", str(file))
    qtbot.waitUntil(lambda: dialog.text.toPlainText() == TEXT and window.tasks.idle)
    return dialog


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle)


def off(window):
    return {t.tool.tool_id for t in window.live.catalog.tools if not t.on}


def test_the_window_shows_the_values_of_the_file_and_undo_brings_back_its_own(
    used, window, file, qtbot
):
    assert str(file) in used.title.text()
    assert window.live.catalog.settings.budget.tokens == 9000
    assert off(window) == {"github/merge"}
    window.undo.undo()
    qtbot.waitUntil(lambda: not used.save.isVisible())
    qtbot.waitUntil(lambda: window.live.catalog.settings.budget.tokens == 20_000)
    assert off(window) == set()
    window.undo.redo()
    qtbot.waitUntil(lambda: off(window) == {"github/merge"})
    settled(window, qtbot)


def test_a_tick_and_a_setting_edit_their_line_and_undo_edits_it_back(used, window, file, qtbot):
    live = window.live
    tool = live.catalog.find("time/now")
    window.undo.push(Tick(live, [tool], False))
    old = live.catalog.settings
    new = old.__class__.from_json({**old.to_json(), "budget": {"tokens": 8000}})
    window.undo.push(SettingsCommand(live, old, new, "Set budget"))
    settled(window, qtbot)
    assert tomllib.loads(file.read_text())["tools"]["off"] == ["github/merge", "time/now"]
    assert "max_schema_tokens = 8000  # measured" in file.read_text()
    window.undo.undo()
    window.undo.undo()
    settled(window, qtbot)
    assert file.read_text() == TEXT
    qtbot.waitUntil(lambda: used.text.toPlainText() == TEXT)


def test_an_edit_is_previewed_saved_with_a_copy_and_taken_back(used, window, file, ctx, qtbot):
    assert not used.save.isEnabled()
    used.text.setPlainText(TEXT.replace("9000", "7000"))
    qtbot.waitUntil(used.save.isEnabled)
    assert used.meaning.text().startswith("Saving changes 1 place")
    assert "7000" in used.diff.after.toPlainText() and used.diff.isVisible()
    used.save.click()
    qtbot.waitUntil(lambda: "7000" in file.read_text())
    qtbot.waitUntil(lambda: window.live.catalog.settings.budget.tokens == 7000)
    assert [copy.read_text() for copy in ctx.paths.policy_copies.glob("*/*")] == [TEXT]
    settled(window, qtbot)
    window.undo.undo()
    qtbot.waitUntil(lambda: file.read_text() == TEXT)
    settled(window, qtbot)


def test_a_mistake_is_named_with_line_and_key_and_cannot_be_saved(used, file, qtbot):
    used.text.setPlainText(TEXT.replace("off =", "of ="))
    qtbot.waitUntil(lambda: "line 7: tools.of is not a key" in used.problem.text())
    assert not used.save.isEnabled() and file.read_text() == TEXT


def test_a_file_that_changed_outside_is_not_overwritten(used, file, qtbot):
    used.text.setPlainText(TEXT.replace("9000", "7000"))
    qtbot.waitUntil(used.save.isEnabled)
    file.write_text(TEXT.replace("9000", "6000"))
    used.save.click()
    qtbot.waitUntil(lambda: "changed meanwhile" in used.problem.text())
    assert "6000" in file.read_text()


def test_a_broken_file_leaves_the_values_and_is_named(used, window, file, qtbot):
    file.write_text("version = 1\n[tools]\nof = []\n")
    window.live.load()
    qtbot.waitUntil(lambda: "line 3: tools.of is not a key" in used.problem.text())
    assert window.live.catalog.settings.budget.tokens == 9000
    tool = window.live.catalog.find("time/now")
    window.undo.push(Tick(window.live, [tool], False))
    qtbot.waitUntil(lambda: "cannot be used" in window.page.messages.text)
    qtbot.waitUntil(lambda: off(window) == {"github/merge"})


def test_a_file_is_imported_once(dialog, window, file, qtbot):
    dialog.take_file(import_file, "Import once", str(file))
    qtbot.waitUntil(lambda: window.live.catalog.settings.budget.tokens == 9000)
    assert "keeps its values in Toolcrib" in dialog.own.text.text()
    window.undo.undo()
    qtbot.waitUntil(lambda: window.live.catalog.settings.budget.tokens == 20_000)
    settled(window, qtbot)
