"""The team in the window: joining, what it says, a team that cannot be reached, leaving."""

import re
from contextlib import closing

import pytest
from guarded import Browser
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from shiboken6 import isValid

from app.catalog.catalog import load_catalog
from app.team import membership, reviewing
from app.team.client import TeamClient
from store.connection import transaction
from store.findings import APPROVED, KEPT
from tests.fakes.team_fixtures import running_trial
from tests.fakes.team_replica import team_with_an_issuer
from ui.windows.team_dialog import TeamDialog
from ui.windows.team_draft import DraftDialog
from ui.windows.team_review import TeamReviewDialog

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


@pytest.fixture
def held_tool(ctx, running_trial):
    """The name of a tool that an editor of this machine's team keeps from the members."""
    with closing(ctx.open_store()) as db:
        membership.join(ctx, db, running_trial.url, running_trial.tokens["robin"])
        membership.synchronise(ctx, db)
        chosen = reviewing.team_tools(db)[0]
        reviewing.decide(ctx, db, [chosen], KEPT)
    yield chosen.name
    with closing(ctx.open_store()) as db:
        again = reviewing.named(reviewing.team_tools(db), [chosen.name])
        reviewing.decide(ctx, db, again, APPROVED)


def test_an_editor_reads_a_held_tool_and_gives_it_to_every_member(
    held_tool, dialog, window, qtbot, monkeypatch
):
    qtbot.waitUntil(dialog.review.isVisible, timeout=20_000)
    assert dialog.review.text() == "Held tools…"  # a review has kept it: nothing waits
    press(qtbot, dialog.review)
    review = dialog.findChild(TeamReviewDialog)
    qtbot.waitUntil(lambda: review.title.text() == "1 tool held by the team", timeout=20_000)
    assert review.names.item(0).text() == f"{held_tool} · kept by a review"
    assert '"inputSchema"' in review.definition.toPlainText()
    with monkeypatch.context() as away:
        away.setattr(membership, "token_of", lambda *_: "tct_another")
        press(qtbot, review.approve)
        qtbot.waitUntil(lambda: "does not take the token" in review.problem.text(), timeout=20_000)
    qtbot.waitUntil(review.approve.isEnabled, timeout=20_000)
    press(qtbot, review.approve)
    qtbot.waitUntil(lambda: review.title.text() == "The team holds no tool", timeout=60_000)
    assert not review.approve.isEnabled() and review.definition.toPlainText() == ""
    review.close()
    qtbot.waitUntil(lambda: not dialog.review.isVisible(), timeout=20_000)


def test_joining_shows_team_role_time_and_profiles_and_leaving_takes_them_away(
    dialog, window, qtbot, running_trial
):
    before = list(window.live.profiles)
    dialog.url.setText(running_trial.url)
    dialog.token.setText(running_trial.new_token("sam"))
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: dialog.title.text() == "Team sample-team", timeout=60_000)
    just = re.compile(r"Synchronised (just now|\d+ s ago) \(")
    qtbot.waitUntil(lambda: just.match(dialog.when.text()) is not None, timeout=60_000)
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


def join(dialog, window, qtbot, trial, member):
    dialog.url.setText(trial.url)
    dialog.token.setText(trial.tokens[member])
    press(qtbot, dialog.join)
    qtbot.waitUntil(lambda: "everyday@sample-team" in window.live.profiles, timeout=60_000)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)


def show_profile(window, qtbot, name):
    from ui.windows.profile_commands import ShowProfile

    window.undo.push(ShowProfile(window.live, name))
    settled(window, qtbot, name)


def settled(window, qtbot, name):
    qtbot.waitUntil(
        lambda: window.tasks.idle and window.live.catalog.profile.name == name, timeout=20_000
    )


def commands(window):
    return {entry.text: entry for entry in window.commands.entries()}


def test_a_member_reads_why_a_team_profile_is_read_only(dialog, window, qtbot, running_trial):
    join(dialog, window, qtbot, running_trial, "sam")
    show_profile(window, qtbot, "everyday@sample-team")
    menu = window.commands.profiles
    assert menu.edit.isVisible() and not menu.edit.isEnabled() and not menu.send.isVisible()
    assert menu.edit.text() == "&Edit for the team (for editors)"
    assert menu.edit.toolTip() == "Only editors of the team change it. You are a member."


@pytest.fixture
def as_editor(dialog, window, qtbot, running_trial):
    """A window with a draft of the team profile in view, one tool turned off in it."""
    from ui.shell.actions import Tick

    join(dialog, window, qtbot, running_trial, "robin")
    show_profile(window, qtbot, "everyday@sample-team")
    window.commands.profiles.edit.trigger()
    settled(window, qtbot, "everyday draft")
    window.undo.push(Tick(window.live, [window.live.catalog.find("notes/list_notes")], False))
    qtbot.waitUntil(lambda: window.tasks.idle)
    window.commands.profiles.send.trigger()
    sheet = window.findChild(DraftDialog)
    yield sheet
    if isValid(sheet):
        sheet.close()


def of_team(window, qtbot, name):
    """The tool's tick in the team profile as it is here."""
    window.tasks.request(lambda db: load_catalog(db, "everyday@sample-team"), (read := []).append)
    qtbot.waitUntil(lambda: bool(read), timeout=20_000)
    return read[0].find(name).on


def test_an_editor_sees_whom_a_change_concerns_sends_it_and_takes_it_back(as_editor, window, qtbot):
    sheet = as_editor
    qtbot.waitUntil(sheet.save.isEnabled, timeout=60_000)
    assert sheet.title.text() == "Change everyday for the team sample-team"
    assert sheet.concerned.text() == ("It concerns 1 admin, 1 editor, 1 member: alex, robin, sam.")
    assert sheet.lines.toPlainText() == "Turn off notes/list_notes"
    press(qtbot, sheet.save)
    qtbot.waitUntil(lambda: window.undo.undoText() == "Send everyday to the team", timeout=60_000)
    qtbot.waitUntil(lambda: not of_team(window, qtbot, "notes/list_notes"), timeout=20_000)
    window.undo.undo()
    qtbot.waitUntil(lambda: "Undone: Send everyday" in window.status.message.text(), timeout=60_000)
    assert of_team(window, qtbot, "notes/list_notes")
    window.undo.redo()
    qtbot.waitUntil(lambda: "Sent everyday" in window.status.message.text(), timeout=60_000)
    assert not of_team(window, qtbot, "notes/list_notes")
    window.undo.undo()
    qtbot.waitUntil(lambda: of_team(window, qtbot, "notes/list_notes"), timeout=60_000)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)


def test_a_change_by_another_editor_meanwhile_is_shown_before_sending(
    as_editor, window, qtbot, running_trial
):
    sheet = as_editor
    qtbot.waitUntil(sheet.save.isEnabled, timeout=60_000)
    other = [{"tool": "notes/list_notes", "on": True, "pinned": True}]
    with TeamClient(running_trial.url, running_trial.tokens["alex"]) as client:
        rows = client.changes(0).items
        version = [r["version"] for r in rows if r.get("name") == "everyday"][-1]
        body = {"settings": {}, "ticks": other, "version": version}
        saved = client.save_profile("everyday", body)
        press(qtbot, sheet.save)
        faster = "Another editor was faster."
        qtbot.waitUntil(lambda: faster in sheet.problem.text(), timeout=60_000)
        qtbot.waitUntil(sheet.save.isEnabled, timeout=60_000)
        assert of_team(window, qtbot, "notes/list_notes")
        mark = "Turn off notes/list_notes – another editor changed this, too"
        assert sheet.lines.toPlainText() == mark
        assert "Sending replaces that." in sheet.warning.text()
        body["ticks"] = [{"tool": "notes/search_notes", "on": True, "pinned": True}]
        client.save_profile("everyday", body | {"version": saved["version"]})


def test_offline_a_draft_stays(as_editor, window, qtbot):
    sheet = as_editor
    qtbot.waitUntil(sheet.save.isEnabled, timeout=60_000)
    with closing(window.tasks.ctx.open_store()) as db, transaction(db):
        db.execute("UPDATE teams SET url = 'http://127.0.0.1:9'")
        membership.remember(window.tasks.ctx, "http://127.0.0.1:9", "tct_" + "x" * 43)
    press(qtbot, sheet.save)
    qtbot.waitUntil(lambda: "cannot be reached" in sheet.problem.text(), timeout=60_000)
    assert "Nothing was sent. Your draft stays; send it later." in sheet.problem.text()


@pytest.fixture(scope="module")
def url_of_a_team_with_an_issuer(no_process_left_behind):
    with team_with_an_issuer() as (given, _issuer):
        yield given["TOOLCRIB_TEAM_URL"]


def test_joining_by_a_sign_in_in_the_browser(
    dialog, window, qtbot, url_of_a_team_with_an_issuer, monkeypatch
):
    browser = Browser()
    pages = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda page: pages.append(page.toString()) or True
    )
    dialog.url.setText(url_of_a_team_with_an_issuer)
    press(qtbot, dialog.browser)
    qtbot.waitUntil(lambda: bool(pages), timeout=60_000)
    assert dialog.progress.text() == "Sign in on the page that was opened in your browser."
    browser.open(pages[0])
    qtbot.waitUntil(lambda: dialog.title.text() == "Team acme", timeout=60_000)
    browser.close()
    assert dialog.role.text() == f"You are jo, member, at {url_of_a_team_with_an_issuer}."
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=20_000)


def test_a_team_without_an_issuer_asks_for_a_token(dialog, window, qtbot, running_trial):
    dialog.url.setText(running_trial.url)
    press(qtbot, dialog.browser)
    problem = "This team has no sign-in in the browser."
    qtbot.waitUntil(lambda: problem in dialog.problem.text(), timeout=60_000)
    assert dialog.join.isVisible() and dialog.browser.isVisible()
