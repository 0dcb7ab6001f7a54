"""The bar of calls that wait for a yes."""

import pytest

from app.system.presence import is_window_open
from store import approvals
from store.connection import transaction
from store.records import ALLOWED, Approval
from ui.windows.approval_bar import ApprovalBar


@pytest.fixture
def bar(services, theme, qtbot):
    bar = ApprovalBar(theme, services.tasks)
    qtbot.addWidget(bar)
    return bar


def wait_for(services, tool="files/delete", seconds=60.0, arguments='{"path": "<b>x</b>"}'):
    now = services.ctx.clock()
    db = services.ctx.open_store()
    try:
        with transaction(db):
            call = Approval(0, now, now + seconds, "default", "s", "codex", tool, "h", arguments)
            return approvals.add(db, call)
    finally:
        db.close()


def state(services, number):
    db = services.ctx.open_store()
    try:
        return approvals.find(db, number).state
    finally:
        db.close()


def test_the_bar_is_hidden_until_a_call_waits(bar, services, qtbot):
    bar.look()
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert bar.isHidden()
    wait_for(services)
    bar.look()
    qtbot.waitUntil(lambda: not bar.isHidden())
    assert bar.text.text().startswith("codex wants to call files/delete with {")


def test_a_yes_is_stored_and_the_next_call_shown(bar, services, qtbot):
    first, second = wait_for(services), wait_for(services, "files/write")
    bar.look()
    qtbot.waitUntil(lambda: "1 more call" in bar.text.text())
    bar.buttons[0].click()
    qtbot.waitUntil(lambda: "files/write" in bar.text.text())
    assert (state(services, first), state(services, second)) == (ALLOWED, "waiting")
    bar.buttons[3].click()
    qtbot.waitUntil(bar.isHidden)
    assert state(services, second) == "denied"


def test_a_decision_that_comes_too_late_is_an_error_and_nothing_else(bar, services, qtbot):
    number = wait_for(services)
    bar.look()
    qtbot.waitUntil(lambda: bar.call is not None)
    db = services.ctx.open_store()
    with transaction(db):
        approvals.end(db, number, "gone")
    db.close()
    with qtbot.waitSignal(bar.failed) as failed:
        bar.buttons[0].click()
    assert "waits no more" in failed.args[0].title
    qtbot.waitUntil(bar.isHidden)
    assert state(services, number) == "gone"


def test_two_windows_decide_a_call_once(bar, services, theme, qtbot):
    other = ApprovalBar(theme, services.tasks)
    qtbot.addWidget(other)
    number = wait_for(services)
    bar.look()
    other.look()
    qtbot.waitUntil(lambda: bar.call is not None and other.call is not None)
    bar.buttons[0].click()
    with qtbot.waitSignal(other.failed):
        other.buttons[3].click()
    assert state(services, number) == ALLOWED


def test_a_call_whose_time_is_over_leaves_by_itself(bar, services, qtbot):
    wait_for(services, seconds=-1.0)
    bar.look()
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert bar.isHidden()


def test_the_bar_says_why_a_tool_is_held_back(fill, bar, services, qtbot):
    fill()
    wait_for(services, "team/deploy")
    bar.look()
    qtbot.waitUntil(lambda: "Held back: its server is not trusted yet" in bar.text.text())


def test_gateways_know_that_a_window_is_open(bar, services, qtbot):
    home = str(services.ctx.paths.home)
    assert not is_window_open(home)
    bar.look()
    assert is_window_open(home)
    qtbot.waitUntil(lambda: services.tasks.idle)
    services.tasks.close()
    assert not is_window_open(home)
