"""The team in the window: joining, what it says, a team that cannot be reached, leaving."""

import pytest
from PySide6.QtCore import Qt

from tests.fakes.team_fixtures import running_trial
from ui.windows.team_dialog import TeamDialog, ago

__all__ = ["running_trial"]


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def dialog(window, qtbot):
    entries = {e.text: e for e in window.commands.entries()}
    entries["Profile: Team…"].run()
    dialog = window.findChild(TeamDialog)
    qtbot.waitUntil(lambda: window.tasks.idle)
    yield dialog
    dialog.close()


def press(qtbot, button):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_without_a_team_it_says_so_and_what_joining_does(dialog):
    assert dialog.title.text() == "This machine is in no team"
    assert "beside your own" in dialog.intro.text()
    assert dialog.join.isVisible() and not dialog.sync.isVisible() and not dialog.leave.isVisible()


def test_a_server_that_cannot_be_reached_is_named(dialog, window, qtbot):
    dialog.url.setText("http://127.0.0.1:9")
    dialog.token.setText("tct_x")
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: "cannot be reached" in dialog.problem.text(), timeout=20_000)
    assert dialog.join.isVisible()


def test_joining_shows_team_role_time_and_profiles_and_leaving_takes_them_away(
    dialog, window, qtbot, running_trial
):
    before = list(window.live.profiles)
    dialog.url.setText(running_trial.url)
    dialog.token.setText(running_trial.tokens["sam"])
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: dialog.title.text() == "Team sample-team", timeout=60_000)
    qtbot.waitUntil(lambda: dialog.when.text().startswith("Synchronised just now"), timeout=60_000)
    assert dialog.role.text() == f"You are sam, member, at {running_trial.url}."
    assert "Team profiles: everyday@sample-team." in dialog.has.text()
    assert "Nothing of yours is sent" in dialog.sends.text()
    assert dialog.token.text() == ""
    qtbot.waitUntil(lambda: "everyday@sample-team" in window.live.profiles, timeout=20_000)
    press(qtbot, dialog.leave)
    assert "Your own stay." in dialog.problem.text()
    press(qtbot, dialog.stay)
    assert not dialog.problem.isVisible() and dialog.sync.isVisible()
    press(qtbot, dialog.leave)
    press(qtbot, dialog.leave)
    qtbot.waitUntil(lambda: dialog.title.text() == "This machine is in no team", timeout=20_000)
    qtbot.waitUntil(lambda: list(window.live.profiles) == before, timeout=20_000)


def test_a_team_profile_is_not_changed_in_the_window(dialog, window, qtbot, running_trial):
    from ui.shell.actions import Tick
    from ui.windows.profile_commands import ShowProfile

    dialog.url.setText(running_trial.url)
    dialog.token.setText(running_trial.tokens["sam"])
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: "everyday@sample-team" in window.live.profiles, timeout=60_000)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)
    window.undo.push(ShowProfile(window.live, "everyday@sample-team"))
    qtbot.waitUntil(
        lambda: window.tasks.idle and window.live.catalog.profile.name == "everyday@sample-team"
    )
    tool = next(tool for tool in window.live.catalog.tools if tool.on)
    with qtbot.waitSignal(window.live.failed) as signal:
        window.undo.push(Tick(window.live, [tool], False))
    assert signal.args[0].title == "This profile belongs to your team."
    qtbot.waitUntil(lambda: window.tasks.idle)
    qtbot.waitUntil(lambda: window.live.catalog.find(tool.tool.tool_id).on)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "just now"), (600, "10 minutes ago"), (7_300, "2 hours ago"), (400_000, "5 days ago")],
)
def test_times_in_words(seconds, text):
    assert ago(seconds) == text
