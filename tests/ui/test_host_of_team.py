"""The Hosts page writes the team gateway's URL for a team profile, after a yes to the token."""

import json
from contextlib import closing

import pytest
from hosts_kit import open_host, open_page, put_files
from PySide6.QtWidgets import QPushButton

from app.export.http.of_team import VARIABLE
from app.team import membership
from tests.fakes.team_fixtures import running_trial

__all__ = ["running_trial"]
PROFILE = "everyday@sample-team"
CONSENT = "Write with the token"
SECONDS = 60_000


@pytest.fixture
def page(places, services, qtbot, ctx, running_trial):
    """The page of a member's machine, with the team profile in view."""
    home = put_files(places)
    ctx.paths.create()
    with closing(ctx.open_store()) as db:
        membership.join(ctx, db, running_trial.url, running_trial.tokens["sam"])
        membership.synchronise(ctx, db)
    page = open_page(services, qtbot)
    qtbot.addWidget(page, before_close_func=lambda _page: services.tasks.close())
    services.live.show_profile(PROFILE)
    qtbot.waitUntil(lambda: services.tasks.idle and services.live.in_view, timeout=SECONDS)
    page.home = home
    return page


def choose_url(page, qtbot):
    open_host(page, qtbot, "cursor", "through")
    qtbot.waitUntil(lambda: page.services.tasks.idle and page.preview.of_team, timeout=SECONDS)
    assert page.detail.http.box.text() == (
        "The team gateway's &URL instead of a command; needs the network"
    )
    page.detail.http.box.click()
    qtbot.waitUntil(lambda: page.services.tasks.idle and page.preview.plan.of_team, timeout=SECONDS)


def consent(page):
    buttons = page.messages.findChildren(QPushButton)
    return next((b for b in buttons if b.text() == CONSENT and b.isVisible()), None)


def test_a_token_is_written_after_a_yes_and_taken_back(page, qtbot, running_trial):
    file = page.home / ".cursor/mcp.json"
    before = file.read_bytes()
    choose_url(page, qtbot)
    assert not page.detail.http.login.isVisible() and not page.detail.reach.add.isVisible()
    page.detail.write.click()
    qtbot.waitUntil(lambda: consent(page) is not None, timeout=SECONDS)
    assert file.read_bytes() == before
    consent(page).click()
    qtbot.waitUntil(
        lambda: page.services.tasks.idle and file.read_bytes() != before, timeout=SECONDS
    )
    entry = json.loads(file.read_text())["mcpServers"]["toolcrib"]
    assert entry["headers"]["Authorization"] == f"Bearer {running_trial.tokens['sam']}"
    page.services.undo.undo()
    qtbot.waitUntil(
        lambda: page.services.tasks.idle and file.read_bytes() == before, timeout=SECONDS
    )


def test_with_the_variable_set_nothing_is_asked(page, qtbot, places, running_trial):
    places.environ[VARIABLE] = "set"
    file = page.home / ".cursor/mcp.json"
    before = file.read_bytes()
    choose_url(page, qtbot)
    page.detail.write.click()
    qtbot.waitUntil(
        lambda: page.services.tasks.idle and file.read_bytes() != before, timeout=SECONDS
    )
    assert running_trial.tokens["sam"] not in file.read_text()
    assert f"${{env:{VARIABLE}}}" in file.read_text()
