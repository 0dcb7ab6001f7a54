"""The week of the Activity page: too little data, proposals taken, put off, brought back."""

import pytest

from app.policy.usage import DAY
from store import events
from store.connection import transaction
from store.records import EventRecord
from ui.pages.activity.page import WEEK, ActivityPage


@pytest.fixture
def open_week(services, fill, qtbot):
    """open_week(days): the tab over 40 calls of one tool in so many days."""

    def open_it(days: int) -> ActivityPage:
        fill()
        services.live.load()
        qtbot.waitUntil(lambda: services.live.catalog is not None, timeout=20_000)
        now = services.ctx.clock()
        tool = services.live.catalog.shown[0].tool.tool_id
        rows = [
            EventRecord(now - days * DAY * n / 40, "call", host="cursor", session="s", tool=tool)
            for n in range(41)
        ]
        db = services.ctx.open_store()
        with transaction(db):
            events.add(db, rows)
        db.close()
        page = ActivityPage(services)
        qtbot.addWidget(page)
        page.resize(1000, 600)
        page.show()
        qtbot.waitUntil(lambda: page.tabs.isVisible(), timeout=20_000)
        page.tabs.setCurrentIndex(WEEK)
        qtbot.waitUntil(lambda: page.week.digest is not None, timeout=20_000)
        return page

    return open_it


def titles(page) -> list[str]:
    return [one.title for one in page.week.model.rows]


def test_three_days_are_too_little_and_say_what_is_missing(open_week):
    week = open_week(3).week
    assert week.headline.text() == (
        "41 calls of 1 tool this week. Proposals need 7 days and 20 calls: there are 3 days and 41"
        " calls."
    )
    assert not week.view.isVisible() and not week.take.isVisible() and not week.later.isVisible()
    assert week.called_view.isVisible() and week.called.row(0).calls == 41


def test_a_proposal_is_taken_up_and_undone(open_week, services, qtbot):
    page = open_week(14)
    week = page.week
    before = titles(page)
    proposal = week.model.row(0)
    assert week.take.text().startswith(f"Turn off {len(proposal.tools)} tool")
    week.take.click()
    qtbot.waitUntil(lambda: titles(page) == before[1:], timeout=20_000)
    services.undo.undo()
    qtbot.waitUntil(lambda: titles(page) == before, timeout=20_000)


def test_a_proposal_is_put_off_undone_and_all_are_brought_back(open_week, services, qtbot):
    page = open_week(14)
    week = page.week
    before = titles(page)
    assert not week.again.isVisible()
    week.later.click()
    qtbot.waitUntil(lambda: titles(page) == before[1:], timeout=20_000)
    assert week.again.text() == "Propose 1 put off again"
    assert services.undo.undoText() == f"Put off for 30 days: {before[0]}"
    services.undo.undo()
    qtbot.waitUntil(lambda: titles(page) == before, timeout=20_000)
    week.view.setCurrentIndex(week.model.index(0, 0))
    week.never.click()
    qtbot.waitUntil(lambda: titles(page) == before[1:], timeout=20_000)
    assert week.digest.put_off[0].until == 0
    week.again.click()
    qtbot.waitUntil(lambda: titles(page) == before, timeout=20_000)
    services.undo.undo()
    qtbot.waitUntil(lambda: titles(page) == before[1:], timeout=20_000)
