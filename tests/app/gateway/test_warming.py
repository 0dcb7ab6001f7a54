"""The encoder loads when nobody waits: in a quiet moment after tools/list, or with a search."""

import os
import time
from contextlib import closing

import gateway_store
import psutil
import pytest

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import find_model
from app.gateway.menu.search import LOADING, NO_OTHER, SEARCH_AGAIN, UNPREPARED
from app.ranking.floor import set_scan_floor
from resources.sample.config import sample_config
from store import profiles, tools
from store.connection import open_store, transaction

pytestmark = [
    pytest.mark.usefixtures("encoder_at_hand"),
    pytest.mark.skipif(not psutil.LINUX, reason="reads the process's memory map"),
]


def has_encoder(host):
    maps = psutil.Process(host.process.pid).memory_maps()
    return any("onnxruntime" in one.path for one in maps)


def start(stocked, gateway):
    stocked({"alpha": "ok"})
    host = gateway()
    host.initialize()
    return host


def test_calls_that_follow_the_list_at_once_do_not_compete_with_it(stocked, gateway):
    host = start(stocked, gateway)
    host.tools()
    busy_until = time.monotonic() + 2.5
    while time.monotonic() < busy_until:
        host.run("alpha/echo", {"text": "x"})
        assert not has_encoder(host)


def test_a_quiet_moment_after_the_list_is_used(stocked, gateway):
    host = start(stocked, gateway)
    assert not has_encoder(host)
    host.tools()
    host.until(lambda: has_encoder(host))


def test_a_search_before_that_is_answered_by_words_and_starts_the_loading(stocked, gateway):
    host = start(stocked, gateway)
    assert LOADING in host.search("read a note")
    host.until(lambda: LOADING not in host.search("read a note"))
    assert has_encoder(host)
    assert UNPREPARED in host.search("read a note")  # this store has no vectors of its tools


@pytest.fixture
def sampled(home):
    """The sample servers as a scan leaves them."""
    database = gateway_store.stock(home, sample_config(home)["mcpServers"], encode=True)
    encoder = Encoder.load(find_model(Paths.default(os.environ), "all-MiniLM-L6-v2"))
    with closing(open_store(database)) as db, transaction(db):
        set_scan_floor(db, encoder, time.time)
    return database


def ids_of(db, part):
    return [tool.id for tool in tools.tools(db) if tool.tool_id.startswith(part)]


@pytest.fixture
def weather_off(sampled):
    """The same with the weather's tools off."""
    with closing(open_store(sampled)) as db, transaction(db):
        profiles.set_on(db, profiles.by_name(db, "default").id, ids_of(db, "weather/"), False)


def test_a_pinned_tool_is_no_answer_to_a_query_that_nothing_fits(sampled, gateway):
    with closing(open_store(sampled)) as db, transaction(db):
        pinned = ids_of(db, "notes/search_notes")
        profiles.set_pinned(db, profiles.by_name(db, "default").id, pinned, True)
    host = gateway()
    host.initialize()
    host.until(lambda: LOADING not in host.search("find a note about cheese"))
    assert host.search("notes about the garden").startswith("notes/search_notes")
    answer = host.search("translate this sentence into Latin verse")
    assert answer.startswith("No tool fits.") and "Also:" not in answer


@pytest.mark.parametrize(
    "query",
    ["weather forecast for the next days", "daily rain forecast in mm", "current wind in a city"],
)
def test_a_best_match_that_is_off_leaves_nothing_under_the_floor_to_the_first_search(
    weather_off, gateway, query
):
    host = gateway()
    host.initialize()
    assert not has_encoder(host)
    cold = host.search(query)
    first, *rest = cold.splitlines()
    assert first.startswith("The best match is off: weather/")
    assert rest in ([NO_OTHER], [SEARCH_AGAIN, LOADING]), "the second where it loads slowly"
    host.until(lambda: host.search(query).splitlines()[:2] == [first, NO_OTHER])
    assert has_encoder(host)
