"""The window shows what other processes change, as they change it."""

import pytest

from store import events, profiles, tools
from store.connection import open_store, transaction
from store.records import EventRecord

SECONDS = 30_000


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def others(ctx):
    """A connection of another process's kind."""
    db = open_store(ctx.paths.database)
    yield db
    db.close()


def shown(window):
    return {row.tool.name: row.on for row in window.live.catalog.tools}


def switch_off(db, name):
    tool = next(tool for tool in tools.tools(db) if tool.name == name)
    with transaction(db):
        profiles.set_on(db, profiles.by_name(db, "default").id, [tool.id], False)


def test_a_change_by_somebody_else_is_shown_without_a_look(window, others, qtbot):
    switch_off(others, "merge")
    qtbot.waitUntil(lambda: not shown(window)["merge"], timeout=SECONDS)
    switch_off(others, "search_code")
    qtbot.waitUntil(lambda: not shown(window)["search_code"], timeout=SECONDS)


def test_a_profile_that_somebody_else_makes_can_be_chosen(window, others, qtbot):
    with transaction(others):
        profiles.create(others, "mine")
    qtbot.waitUntil(lambda: "mine" in window.live.profiles, timeout=SECONDS)


def test_what_calls_write_loads_nothing(window, others, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)
    loads = []
    window.live.loaded.connect(lambda: loads.append(1))
    with transaction(others):
        events.add(others, [EventRecord(1_790_000_000.0, "call", "default", tool="github/merge")])
    with qtbot.waitSignal(window.tasks.busy, timeout=SECONDS):  # it looks
        pass
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)
    assert loads == []
    switch_off(others, "merge")
    qtbot.waitUntil(lambda: not shown(window)["merge"], timeout=SECONDS)
    assert len(loads) == 1
