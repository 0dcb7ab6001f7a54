"""The window hears of changes of the catalogue from the backend, whenever one runs."""

import sys
from pathlib import Path

import pytest

from app.gateway.backend.client import request, start
from app.gateway.backend.rendezvous import STATUS, STOP, Place
from store import events, profiles, tools
from store.connection import open_store, transaction
from store.records import EventRecord

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no backend")
SECONDS = 30_000


@pytest.fixture
def place(ctx, monkeypatch, qtbot):
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "60")
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    place = Place(str(ctx.paths.home))
    yield place
    ended(place, qtbot)


def ended(place, qtbot):
    request(place, STOP)
    qtbot.waitUntil(lambda: not Path(place.socket).exists(), timeout=SECONDS)


def others(ctx):
    """A connection of another process's kind."""
    return open_store(ctx.paths.database)


def shown(window):
    return {row.tool.name: row.on for row in window.live.catalog.tools}


def test_a_change_by_somebody_else_is_shown_without_a_look(fill, open_window, ctx, place, qtbot):
    fill()
    window = open_window()
    assert not window.events.is_connected
    assert start(place)  # as a host's first adapter would
    qtbot.waitUntil(lambda: window.events.is_connected, timeout=SECONDS)
    db = others(ctx)
    tool = next(tool for tool in tools.tools(db) if tool.name == "merge")
    with transaction(db):
        profiles.set_on(db, profiles.by_name(db, "default").id, [tool.id], False)
    db.close()
    qtbot.waitUntil(lambda: not shown(window)["merge"], timeout=SECONDS)


def test_it_listens_to_the_next_backend_too(fill, open_window, place, qtbot):
    fill()
    assert start(place)
    window = open_window()
    qtbot.waitUntil(lambda: window.events.is_connected, timeout=SECONDS)
    ended(place, qtbot)
    qtbot.waitUntil(lambda: not window.events.is_connected, timeout=SECONDS)
    assert start(place)
    qtbot.waitUntil(lambda: window.events.is_connected, timeout=SECONDS)


def test_what_calls_write_is_no_news(fill, open_window, ctx, place, qtbot):
    fill()
    assert start(place)
    window = open_window()
    qtbot.waitUntil(lambda: window.events.is_connected, timeout=SECONDS)
    news = []
    window.events.changed.connect(lambda: news.append(1))
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=SECONDS)
    db = others(ctx)
    began = request(place, STATUS)["seconds"]
    for number in range(5):
        with transaction(db):
            call = EventRecord(1_790_000_000.0 + number, "call", "default", tool="github/merge")
            events.add(db, [call])
    db.close()
    qtbot.waitUntil(lambda: request(place, STATUS)["seconds"] >= began + 4, timeout=SECONDS)
    assert len(news) <= 1  # the one that greets it
