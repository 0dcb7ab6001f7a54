"""The Playground names listed servers where no tool fits, and leads to Find servers."""

import pytest

from app.market.entry import read_entry
from app.market.index import prepare
from app.market.records import row_of
from store import market, profiles
from store.connection import transaction
from store.market import MarketSource, MarketTool
from ui.pages.playground.not_installed import ONLY_HERE, TO_MODELS
from ui.shell.query_session import READY

WAIT = 60_000
MUSIC = "play jazz music in the living room"


@pytest.fixture
def page(open_playground, stocked, qtbot):
    page = open_playground()
    qtbot.waitUntil(lambda: page.tried.session.state == READY, timeout=WAIT)
    package = {"registryType": "npm", "identifier": "tune", "version": "1.0.0"}
    raw = {"name": "com.example/tune", "description": "Music player", "packages": [package]}
    with stocked.ctx.store() as db, transaction(db):
        market.add_source(db, MarketSource(0, "https://team.example", "team"))
        (source,) = market.sources(db)
        row = row_of(read_entry(raw, {"status": "active"}), (MarketTool("play_music", ""),))
        market.save(db, source, [row])
    with stocked.ctx.store() as db:
        prepare(db, page.tried.session.encoder)
    return page


def ask(page, qtbot, query):
    page.try_query(query)
    answered = lambda: page.tried.answer and page.tried.answer.ranked.query == query  # noqa: E731
    qtbot.waitUntil(lambda: bool(answered()) and page.services.tasks.idle, timeout=WAIT)


@pytest.mark.parametrize("hears", [False, True])
def test_a_listed_server_is_named_as_not_installed_with_the_way_to_it(page, stocked, qtbot, hears):
    tier = page.tried.not_installed
    if hears:
        with stocked.ctx.store() as db, transaction(db):
            record = profiles.by_name(db, "default")
            profiles.save_settings(db, record.id, {"gateway": {"marketplace": True}})
        stocked.live.load()
        qtbot.waitUntil(lambda: stocked.tasks.idle, timeout=WAIT)
    ask(page, qtbot, MUSIC)
    assert not page.tried.answer.ranked.shown and tier.isVisible()
    assert tier.names[0].text() == "com.example/tune: play_music"
    assert tier.badges[0].badge.word == "Not installed" and tier.badges[0].isVisible()
    assert (
        tier.badges[0].toolTip() == (TO_MODELS if hears else ONLY_HERE) and tier.names[1].isHidden()
    )
    with qtbot.waitSignal(stocked.live.servers_wanted) as sought:
        tier.button.click()
    assert sought.args == [MUSIC]
    ask(page, qtbot, "open a pull request with a title")
    assert page.tried.answer.ranked.shown and tier.isHidden()


def test_the_lists_vectors_are_read_once_until_a_list_changes(page, stocked, qtbot, monkeypatch):
    read = []
    vectors = market.vectors
    monkeypatch.setattr(market, "vectors", lambda *given: read.append(given) or vectors(*given))
    tier = page.tried.not_installed
    for query in (MUSIC, "sing a lullaby in the shower", "play jazz music"):
        ask(page, qtbot, query)
        assert tier.isVisible()
    assert len(read) == 1
    package = {"registryType": "npm", "identifier": "bath", "version": "1.0.0"}
    raw = {"name": "com.example/bath", "description": "Lullabies", "packages": [package]}
    with stocked.ctx.store() as db, transaction(db):
        (source,) = market.sources(db)
        row = row_of(read_entry(raw, {"status": "active"}), (MarketTool("sing_lullaby", ""),))
        market.save(db, source, [row])
    with stocked.ctx.store() as db:
        prepare(db, page.tried.session.encoder)
    ask(page, qtbot, "sing a lullaby")
    assert tier.names[0].text() == "com.example/bath: sing_lullaby" and len(read) == 2


def test_where_no_list_has_one_the_way_to_the_lists_is_still_there(page, qtbot):
    ask(page, qtbot, "sing a lullaby in the shower")
    tier = page.tried.not_installed
    assert not page.tried.answer.ranked.shown and tier.isVisible()
    assert tier.none_fits.isVisible() and tier.button.isVisible()
    assert all(badge.isHidden() for badge in tier.badges)
