"""A label counts at the very next query, without learning, and no longer once it is taken back."""

from pathlib import Path

import pytest

from app.catalog.catalog import load_catalog
from app.core.settings import RoutingSettings
from app.hooks.suggestion import suggest
from app.ranking.learning.cases import make_case
from app.ranking.learning.query_set import change_labels
from app.ranking.ranked import PAST_USE
from app.ranking.report import ranked_json
from app.ranking.router import Router
from store import profiles, queries, tools
from store.connection import transaction
from store.records import LabelRecord
from tests.fakes.cpu_time import CpuTime
from tests.fakes.routing_fakes import WordEncoder, filled

QUERY = "what is on the seals' plate"
LISTED = [
    ("bank", "transfer", "moves an amount between two accounts"),
    ("bank", "statement", "lists what happened on an account, plate and seals of it"),
    ("zoo", "feed", "gives an animal its food"),
]


@pytest.fixture
def store(tmp_path: Path):
    db, catalog = filled(tmp_path / "l.db", LISTED, WordEncoder())
    yield db, catalog
    db.close()


def label(query: str, *expected: str) -> LabelRecord:
    return LabelRecord(0, query, expected, "typed", 1.0)


@pytest.mark.parametrize("meaning", [True, False])
@pytest.mark.parametrize("limit", [None, 5])
def test_the_next_query_with_these_words_finds_its_tools_until_it_is_undone(store, meaning, limit):
    db, catalog = store
    router = Router.from_store(db, catalog, None, WordEncoder() if meaning else None)

    def first(query: str) -> str:
        return router.route(query, limit=limit).tools[0].tool_id

    assert first(QUERY) == "bank/statement"
    given = label(QUERY, "zoo/feed")
    change_labels(db, removed=[], added=[given])
    assert first(QUERY) == first("What is on the plate of the seal?") == "zoo/feed"
    assert first("seals on a gold plate") == "bank/statement"
    feed = router.route(QUERY, limit=limit).tools[0]
    assert dict(feed.parts)[PAST_USE] > 0 and feed.shown
    tiers = [tool["tier"] for tool in ranked_json(router.route(QUERY, limit=limit))["tools"]]
    assert tiers[0] == "expert" and {*tiers[1:]} <= {"dense", ""}
    assert sum(value for _, value in feed.parts) == pytest.approx(feed.score)
    change_labels(db, removed=[given], added=[label(QUERY, "bank/transfer", "zoo/feed")])
    ranked = router.route(QUERY, limit=limit).tools
    assert {tool.tool_id for tool in ranked[:2]} == {"bank/transfer", "zoo/feed"}
    change_labels(db, removed=[label(QUERY, "zoo/feed", "bank/transfer")], added=[])
    assert first(QUERY) == "bank/statement"


def test_the_floor_does_not_refuse_what_a_label_expects(store):
    db, catalog = store
    with transaction(db):
        queries.save_labels(db, [label("nothing alike", "zoo/feed")])
    router = Router.from_store(db, catalog, RoutingSettings(floor=0.99), WordEncoder())
    found = router.route("nothing alike")
    assert found.likely and [tool.tool_id for tool in found.shown] == ["zoo/feed"]
    rows = {row.tool.id: row for row in catalog.tools}
    assert suggest(found, small_talk=-1.0, tool=rows.get).tools == ("zoo/feed",)  # nor do hooks
    assert not router.route("nothing similar").shown


def test_a_tool_that_cannot_be_had_is_not_put_first(store):
    db, catalog = store
    with transaction(db):
        queries.save_labels(db, [label(QUERY, "zoo/feed", "gone/tool")])
        feed = next(tool for tool in tools.tools(db) if tool.name == "feed")
        profiles.set_on(db, catalog.profile.id, [feed.id], False)
    for limit in (None, 5):
        router = Router.from_store(db, load_catalog(db), None, WordEncoder())
        assert router.route(QUERY, limit=limit).tools[0].tool_id == "bank/statement"


def test_labels_do_not_flatter_what_is_measured_by_them(store):
    db, catalog = store
    with transaction(db):
        queries.save_labels(db, [label(QUERY, "zoo/feed")])
    router = Router.from_store(db, catalog, None, WordEncoder())
    assert make_case(router, QUERY, {"zoo/feed"}).tools[0] == "bank/statement"
    off = Router.from_store(db, catalog, RoutingSettings(learned=False), WordEncoder())
    assert off.route(QUERY).tools[0].tool_id == "bank/statement"


def test_a_label_counts_within_a_second_among_a_thousand_tools_and_labels(tmp_path):
    listed = [(f"s{n % 20}", f"tool_{n}", f"does thing {n} with part {n % 7}") for n in range(1000)]
    db, catalog = filled(tmp_path / "many.db", listed, WordEncoder())
    try:
        router = Router.from_store(db, catalog, None, WordEncoder())
        router.route("thing with part", limit=8)
        rows = [label(f"old question number {n}", f"s{n % 20}/tool_{n}") for n in range(1000)]
        change_labels(db, removed=[], added=rows)
        with CpuTime() as cpu:
            change_labels(db, removed=[], added=[label(QUERY, "s3/tool_503")])
            assert router.route(QUERY, limit=8).tools[0].tool_id == "s3/tool_503"
        assert cpu.seconds < 1.0
    finally:
        db.close()


def test_a_hook_is_silent_where_the_playground_s_first_tool_is_not_near(store):
    db, catalog = store
    every = RoutingSettings(floor=-1.0, delta=1.0)
    found = Router.from_store(db, catalog, every, WordEncoder()).route(QUERY)
    rows = {row.tool.id: row for row in catalog.tools}
    assert len(found.shown) > 1 and suggest(found, small_talk=-1.0, tool=rows.get).tools
    first, second, third = (tool.tool_id for tool in found.shown[:3])
    found.shown[1].iso = found.floor - 0.01  # what a host gets begins as the Playground's list does
    assert suggest(found, small_talk=-1.0, tool=rows.get).tools == (first,)
    kept = suggest(found, small_talk=-1.0, tool=rows.get, listed=True).tools
    assert kept[:2] == (first, third) and second not in kept  # no call is lost by a gap
    found.shown[0].iso = found.floor - 0.01
    assert suggest(found, small_talk=-1.0, tool=rows.get).why.startswith("No tool fits.")
