"""Settings, Login: the switch writes one file into a throwaway home, and off leaves no trace."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.core.settings import Settings
from app.gateway.backend.login import ON, switch
from app.gateway.backend.rendezvous import OFF_FILE
from ui.look.theme import DARK_ONLY, LIGHT_ONLY
from ui.windows.settings_dialog import SettingsDialog

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a desktop entry")
ENTRY = ".config/autostart/toolcrib-backend.desktop"


@pytest.fixture
def user(places, monkeypatch):
    """The user's home folder, empty."""
    monkeypatch.setenv("HOME", str(places.home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return places.home


@pytest.fixture
def window(user, fill, open_window, ctx, monkeypatch):
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    fill()
    return open_window()


@pytest.fixture
def dialog(window):
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    found = window.findChild(SettingsDialog)
    found.tabs.setCurrentIndex(found.tabs.count() - 1)
    assert found.login.isVisible()
    yield found
    found.reject()


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def kept(ctx) -> bool:
    return Settings.load(ctx.paths.settings_file).at_login


def tick(dialog):
    return dialog.login.form.fields["at_login"]


def test_it_is_off_and_names_the_file_and_nothing_is_written(dialog, user, ctx):
    words = " ".join(label.text() for label in dialog.login.findChildren(QLabel))
    assert f"Switching it on writes ~/{ENTRY}, off removes it." in words
    assert "stays until you log out" in words and "with the first host" in words
    assert not tick(dialog).isChecked() and not dialog.usual.isEnabled()
    assert files(user) == [] and not kept(ctx)


def test_on_writes_the_file_that_the_command_line_shows_and_off_leaves_no_trace(dialog, user, ctx):
    tick(dialog).click()
    text = (user / ENTRY).read_text(encoding="utf-8")
    assert "toolcrib-gateway serve" in text and f"TOOLCRIB_HOME={ctx.paths.home}" in text
    assert kept(ctx) and dialog.login.state.text() == ON
    tick(dialog).click()
    assert files(user) == [] and not kept(ctx)


def test_it_is_a_step_that_can_be_undone_and_made_again(dialog, window, user, ctx):
    tick(dialog).click()
    text = (user / ENTRY).read_bytes()
    assert window.undo.undoText() == "Switch starting with your login on"
    window.undo.undo()
    assert files(user) == [] and not kept(ctx) and not tick(dialog).isChecked()
    window.undo.redo()
    assert (user / ENTRY).read_bytes() == text and kept(ctx) and tick(dialog).isChecked()
    dialog.usual.click()  # the usual value is off
    assert files(user) == [] and not tick(dialog).isChecked() and not dialog.usual.isEnabled()
    window.undo.undo()
    assert (user / ENTRY).read_bytes() == text and dialog.usual.isEnabled()
    dialog.usual.click()


@pytest.mark.parametrize("blocked", [".config", ".config/autostart", ENTRY])
def test_what_cannot_be_written_is_said_and_stays_off(dialog, window, user, ctx, blocked):
    (user / blocked).parent.mkdir(parents=True, exist_ok=True)
    (user / blocked).write_text("somebody's own", encoding="utf-8")
    before = files(user)
    tick(dialog).click()
    assert dialog.problem.isVisible() and str(user / ENTRY) in dialog.problem.text()
    reason = "exists and is not Toolcrib's" if blocked == ENTRY else "was not written"
    assert reason in dialog.problem.text()
    assert not tick(dialog).isChecked() and not kept(ctx) and files(user) == before
    assert not window.undo.canUndo()
    (user / blocked).unlink()
    tick(dialog).click()
    assert tick(dialog).isChecked() and not dialog.problem.isVisible()


def test_an_undo_that_cannot_be_made_is_said_and_is_no_step_any_more(dialog, window, user, ctx):
    tick(dialog).click()
    tick(dialog).click()
    (user / ".config").write_text("somebody's own", encoding="utf-8")
    window.undo.undo()
    assert "was not written" in window.page.messages.text and not kept(ctx)
    assert not tick(dialog).isChecked() and window.undo.undoText().endswith("on")


def test_a_setting_that_cannot_be_kept_leaves_no_file(dialog, user, ctx):
    ctx.paths.settings_file.write_text("at_login = 3\n", encoding="utf-8")
    tick(dialog).click()
    assert "at_login" in dialog.problem.text() and files(user) == []
    assert "at_login" in dialog.login.state.text() and not tick(dialog).isEnabled()
    ctx.paths.settings_file.unlink()
    dialog.login.follow()
    assert tick(dialog).isEnabled() and not tick(dialog).isChecked()


def test_it_is_refused_while_the_backend_is_off(dialog, user, ctx):
    (ctx.paths.home / OFF_FILE).touch()
    tick(dialog).click()
    assert "The backend is off." in dialog.problem.text() and files(user) == []


def test_what_the_command_line_did_and_what_is_half_there_is_shown(dialog, user, ctx):
    switch(ctx, on=True)
    dialog.login.follow()
    assert tick(dialog).isChecked() and dialog.login.state.text() == ON
    (user / ENTRY).unlink()
    dialog.login.follow()
    assert tick(dialog).isChecked()
    assert dialog.login.state.text() == "The file is missing: switch it off and on again."
    tick(dialog).click()
    tick(dialog).click()
    assert (user / ENTRY).is_file() and dialog.login.state.text() == ON
    ctx.keep(at_login=False)
    dialog.login.follow()
    assert dialog.login.state.text().startswith("The file is there, the setting is not")
    tick(dialog).click()
    assert not (user / ENTRY).exists()


def test_it_is_seen_whole_in_both_looks(dialog, theme, qtbot):
    for look in (DARK_ONLY, LIGHT_ONLY):
        theme.choose(look)
        for label in dialog.login.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width()) > 0, label.text()
        image = dialog.grab().toImage()
        assert (image.pixelColor(3, image.height() - 3).lightness() < 128) is (look == DARK_ONLY)
