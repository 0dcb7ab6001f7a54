"""A member's own sign-ins in the team's dialog: every state, the browser, cancelling, going out."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from guarded import Browser
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.team import membership, own_sign_in
from app.team.client import TeamClient
from tests.fakes.team_replica import team_with_a_guarded_server
from tests.fakes.web_client import WebClient
from ui.windows.team_dialog import TeamDialog

WAIT = 60_000


@pytest.fixture(scope="module")
def team(no_process_left_behind: None, tmp_path_factory) -> Iterator[tuple]:
    """The team, once an editor's sign-in has read the server's tools and they were reviewed."""
    with team_with_a_guarded_server() as made:
        given, _guarded, tokens = made
        home, browser = tmp_path_factory.mktemp("ed"), Browser()
        ctx = AppContext(Paths(home, Path(os.environ["TOOLCRIB_MODELS"])), Settings())
        ctx.paths.create()
        with closing(ctx.open_store()) as db:
            membership.join(ctx, db, given["TOOLCRIB_TEAM_URL"], tokens["ed"])
            assert own_sign_in.sign_in(ctx, db, "guarded", browser.open, 60) == 2
        browser.close()
        with psycopg.connect(given["TOOLCRIB_TEAM_DATABASE"]) as db:
            db.execute("UPDATE toolcrib.tools SET held = false, trusted_hash = hash")
        yield made


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def dialog(window, qtbot, team):
    """The dialog once mia has joined."""
    given, _guarded, tokens = team
    {e.text: e for e in window.commands.entries()}["Profile: Team…"].run()
    dialog = window.findChild(TeamDialog)
    qtbot.waitUntil(lambda: window.tasks.idle)
    dialog.url.setText(given["TOOLCRIB_TEAM_URL"])
    dialog.token.setText(tokens["mia"])
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: "guarded" in dialog.sign_ins.rows, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    yield dialog
    dialog.close()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def press(qtbot, button):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def reads(qtbot, row, state, button):
    """Wait for a row's words."""
    qtbot.waitUntil(lambda: row.state.text() == state, timeout=WAIT)
    assert row.button.text() == button and row.button.isEnabled()


def opens_in(monkeypatch, browser):
    """Let the window open pages in a person's browser."""
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: browser.open(url.toString()) is None
    )


def test_a_member_signs_in_out_and_in_again_where_it_has_ended(
    dialog, window, qtbot, monkeypatch, team
):
    browser, row = Browser(), dialog.sign_ins.rows["guarded"]
    opens_in(monkeypatch, browser)
    reads(qtbot, row, "Not signed in", "Sign in")
    press(qtbot, row.button)
    assert row.button.text() == "Cancel" and not dialog.sync.isEnabled()
    reads(qtbot, row, "Signed in", "Sign out")
    assert window.status.message.text() == "Signed in to guarded." and dialog.sync.isEnabled()
    press(qtbot, row.button)
    reads(qtbot, row, "Not signed in", "Sign in")
    press(qtbot, row.button)
    reads(qtbot, row, "Signed in", "Sign out")
    end(team)
    dialog.refresh()
    reads(qtbot, row, "Your sign-in has ended", "Sign in again")
    assert row.state.property("wrong")
    press(qtbot, row.button)
    reads(qtbot, row, "Signed in", "Sign out")
    assert not row.state.property("wrong")
    press(qtbot, row.button)
    reads(qtbot, row, "Not signed in", "Sign in")
    browser.close()


def end(team):
    """Let the server end every sign-in, and mia call it."""
    given, guarded, tokens = team
    guarded.control(end_all=True)
    web = WebClient(int(given["TOOLCRIB_TEAM_URL"].rpartition(":")[2]), tokens["mia"], "/mcp")
    call = {"name": "call_tool", "arguments": {"name": "guarded/echo_token"}}
    assert "has ended" in web.ask("tools/call", call).text


def test_cancelling_refusing_and_a_missing_browser_are_told_apart(dialog, qtbot, monkeypatch, team):
    _given, guarded, _tokens = team
    row, opened = dialog.sign_ins.rows["guarded"], []
    reads(qtbot, row, "Not signed in", "Sign in")
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) is None)
    press(qtbot, row.button)
    reads(qtbot, row, "Sign in on the page that was opened in your browser.", "Cancel")
    assert len(opened) == 1
    press(qtbot, row.button)
    reads(qtbot, row, "Not signed in: you cancelled it.", "Sign in")
    assert not row.state.property("wrong")
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    press(qtbot, row.button)
    copied = "No browser was opened. The page's address was copied: paste it into one."
    reads(qtbot, row, copied, "Cancel")
    assert QGuiApplication.clipboard().text().startswith(f"{guarded.base}/authorize?")
    press(qtbot, row.button)
    reads(qtbot, row, "Not signed in: you cancelled it.", "Sign in")
    browser = Browser()
    opens_in(monkeypatch, browser)
    guarded.control(deny="access_denied")
    press(qtbot, row.button)
    reads(qtbot, row, "The sign-in was not allowed. Start it again to allow it.", "Sign in")
    assert row.state.property("wrong")
    guarded.control(deny="")
    browser.close()


def test_the_states_of_a_team_server_that_is_away_are_not_invented(
    dialog, window, qtbot, monkeypatch
):
    row = dialog.sign_ins.rows["guarded"]
    reads(qtbot, row, "Not signed in", "Sign in")
    away = TeamClient("http://127.0.0.1:9", "x")
    monkeypatch.setattr(TeamClient, "sign_ins", lambda _self: away.me())
    dialog.refresh()
    qtbot.waitUntil(lambda: "cannot be reached" in row.state.text(), timeout=WAIT)
    assert row.state.property("wrong")
