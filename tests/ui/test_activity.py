"""The Activity page over a real journal."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from store import events, queries
from store.connection import transaction
from store.records import EventRecord
from ui.models.event_rows import EVENT, MOST, RESULT, TOKENS, WHAT, EventTable
from ui.models.roles import BADGE
from ui.views.activity import ActivityPage


def note(services, *added):
    db = services.ctx.open_store()
    with transaction(db):
        events.add(db, [EventRecord(**fields) for fields in added])
    db.close()


SEARCH = {"at": 1.0, "kind": "search", "host": "cursor", "session": "s", "query": "retry policy"}
CALL = {"at": 2.0, "kind": "call", "host": "cursor", "session": "s", "tool": "github/search_code"}


@pytest.fixture
def page(services, qtbot):
    page = ActivityPage(services)
    qtbot.addWidget(page)
    page.resize(1000, 600)
    return page


def shown(page):
    page.show()


def rows(model):
    return [
        tuple(model.index(r, c).data() for c in (EVENT, WHAT, RESULT))
        for r in range(model.rowCount())
    ]


def test_an_empty_journal_offers_the_way_to_fill_it(page, services, qtbot):
    shown(page)
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert "Nothing is served" in page.empty.text.text()
    page.empty.buttons[0].click()
    assert services.go.__self__.gone == ["hosts"]


def test_events_come_in_newest_first_while_the_page_is_in_view(page, services, qtbot):
    note(services, SEARCH, CALL)
    shown(page)
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    assert rows(page.model) == [
        ("Call", "github/search_code", ""),
        ("Search", "“retry policy”", ""),
    ]
    note(services, CALL, CALL)
    qtbot.waitUntil(lambda: rows(page.model)[0][1] == "github/search_code x3")
    assert page.model.rowCount() == 2


def test_space_pauses_and_nothing_is_lost(page, services, qtbot):
    note(services, SEARCH)
    shown(page)
    qtbot.waitUntil(lambda: page.model.rowCount() == 1)
    page.view.setFocus()
    page.activateWindow()
    QTest.keyClick(page.view, Qt.Key.Key_Space)
    assert page.pause.isChecked()
    note(services, CALL)
    page._timer.timeout.emit()
    assert services.tasks.idle
    assert page.model.rowCount() == 1
    page.pause.click()
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)


def test_a_search_and_the_call_after_it_become_a_label(page, services, qtbot):
    note(services, SEARCH, CALL)
    shown(page)
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    page.view.setCurrentIndex(page.model.index(0, 0))
    assert not page.label.isEnabled()
    page.view.setCurrentIndex(page.model.index(1, 0))
    assert page.label.isEnabled()
    page.label.click()
    qtbot.waitUntil(lambda: services.tasks.idle)
    db = services.ctx.open_store()
    (label,) = queries.labels(db)
    db.close()
    assert (label.query, label.expected) == ("retry policy", ("github/search_code",))


def test_only_failures_carry_a_badge_and_every_painted_text_is_there():
    model = EventTable()
    failed = {**CALL, "problem": "could not start", "tokens": 1234}
    model.add([EventRecord(**failed, id=3), EventRecord(**CALL, id=2)])
    assert model.index(0, EVENT).data(BADGE).tone == "block"
    assert model.index(0, EVENT).data() == "Call"
    assert model.index(0, RESULT).data() == "could not start"
    assert model.index(0, TOKENS).data() == "1,234"
    assert model.index(1, EVENT).data(BADGE) is None


def test_the_table_is_bounded(qtmodeltester):
    model = EventTable()
    many = [EventRecord(at=1.0, kind="call", tool=f"s/{i}", id=i) for i in range(MOST + 50)]
    model.add(many[::-1])
    assert model.rowCount() == MOST
    assert model.index(0, WHAT).data() == f"s/{MOST + 49}"
    small = EventTable()
    small.add(many[:5])
    qtmodeltester.check(small)
