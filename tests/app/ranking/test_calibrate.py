"""Calibration over labelled queries: the sweep, the floor, and runs that can be compared."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.settings import RoutingSettings
from app.ranking.floor import calibrated_floor, own_chit_chat, quantile
from app.ranking.learning.calibrate import calibrate, split, sweep
from app.ranking.learning.cases import Case, make_cases, nearest_iso, serve
from app.ranking.learning.runs import compare, save_run
from store import queries
from store.records import LabelRecord, RunRecord

PLAIN = RoutingSettings()
THETA = RoutingSettings(cut="theta")


def case(number: int, best: float, second: float, expected: tuple[str, ...] = ("s/a",)) -> Case:
    """A query whose right tool has the best score and cosine."""
    return Case(f"q{number:03}", frozenset(expected), ("s/a", "s/b"), (1.0, 0.5), (best, second))


def label(query: str, *expected: str) -> LabelRecord:
    return LabelRecord(0, query, expected, "typed")


@pytest.fixture
def labelled() -> list[LabelRecord]:
    words = ["please", "now", "today", "again", "quickly"]
    asked = {
        "github/create_issue": "create a new issue in a repository",
        "files/read_file": "read the complete contents of a file",
        "time/get_current_time": "get the current time in a timezone",
        "slack/post_message": "post a message to a channel",
    }
    return [label(f"{q} {w}", tool) for tool, q in asked.items() for w in words]


def test_the_sweep_finds_the_gap_between_right_and_wrong_tools() -> None:
    cases = [case(n, best=0.45, second=0.31) for n in range(20)]
    found = sweep(cases, "theta", PLAIN)
    assert [p.value for p in found.points] == [round(0.10 + 0.02 * n, 2) for n in range(21)]
    assert found.best.value == 0.32
    assert (found.best.f1, found.best.recall, found.best.active) == (1.0, 1.0, 1.0)
    assert found.band == (1.0, 1.0)
    assert found.points[0].precision == 0.5
    assert found.points[-1].empty == 1.0
    assert sweep(cases, "delta", PLAIN).best.value < 0.5


def test_a_recall_target_takes_the_leanest_value_that_reaches_it() -> None:
    mixed = [case(n, best=0.15 + 0.01 * n, second=0.1) for n in range(20)]
    lean = sweep(mixed, "theta", PLAIN, target_recall=0.5)
    assert lean.reached
    assert 0.5 <= lean.best.recall < 0.7
    never = [replace(one, expected=frozenset({"s/c"})) for one in mixed]
    assert not sweep(never, "theta", PLAIN, target_recall=0.5).reached


def test_from_thirty_queries_on_a_third_is_held_out_always_the_same() -> None:
    cases = [case(n, 0.4, 0.2) for n in range(30)]
    chosen_by, held = split(cases)
    assert (len(chosen_by), len(held)) == (20, 10)
    assert split(list(reversed(cases))) == (chosen_by, held)
    assert split(cases[:29])[1] == []
    assert sweep(cases, "theta", PLAIN).held is not None
    assert sweep(cases[:29], "theta", PLAIN).held is None


def test_a_query_without_a_tool_passes_when_nothing_is_in() -> None:
    nothing = case(1, 0.2, 0.1, expected=())
    assert not serve(nothing, PLAIN).passed
    assert serve(nothing, replace(PLAIN, floor=0.3)).passed
    assert serve(nothing, replace(THETA, theta=0.3)).f1 == 1.0
    assert serve(case(2, 0.2, 0.1), replace(PLAIN, k=1, delta=1.0)).active == 1


def test_serving_agrees_with_the_routers_own_gates(
    make_router: Callable, labelled: list[LabelRecord]
) -> None:
    router, _db, _catalog = make_router()
    cases, _unknown = make_cases(router, labelled)
    for settings in (PLAIN, THETA, replace(PLAIN, floor=0.9), replace(PLAIN, k=2, delta=0.6)):
        for one in cases:
            ranked = router.judge(router.score(one.query, limit=100), settings=settings)
            assert serve(one, settings).active == len(ranked.shown), (one.query, settings)


def test_calibrating_chooses_and_tells_what_is_not_in_the_catalogue(
    make_router: Callable, labelled: list[LabelRecord]
) -> None:
    router, _db, _catalog = make_router()
    given = [*labelled, label("make coffee", "kitchen/brew"), label("hello hello")]
    found = calibrate(router, given, settings=PLAIN, chit_chat=["hello there"])
    assert (found.queries, found.unknown, found.note) == (21, 1, "")
    assert found.theta and found.delta
    assert found.theta.best.recall > 0.9
    low, high = found.theta.band
    assert low <= found.theta.best.f1 <= high
    chosen = found.settings(PLAIN)
    assert (chosen.theta, chosen.delta) == (found.theta.best.value, found.delta.best.value)
    assert chosen.floor == found.floor
    assert chosen.k == PLAIN.k
    again = calibrate(router, given, settings=PLAIN, chit_chat=["hello there"])
    assert again == found


def test_under_twenty_queries_only_the_floor_is_chosen(make_router: Callable) -> None:
    router, _db, _catalog = make_router()
    found = calibrate(
        router, [label("read a file", "files/read_file")], settings=PLAIN, chit_chat=["hi"]
    )
    assert (found.theta, found.delta) == (None, None)
    assert found.note == "Too few labelled queries: 1 of 20."
    assert found.settings(PLAIN) == replace(PLAIN, floor=found.floor)


@pytest.mark.parametrize("listed", [[], [("a", "b", "C.")]])
def test_tiny_catalogues_and_no_encoder_answer(make_router: Callable, listed: list) -> None:
    for encoder in (True, False):
        router, _db, _catalog = make_router(listed, encoder=encoder)
        found = calibrate(router, [label("read", "a/b")], settings=PLAIN, chit_chat=["hi"])
        assert found.theta is None
        assert found.floor <= 1


def test_the_floor_lies_under_good_queries_and_over_most_chit_chat() -> None:
    chat = [0.1 + 0.01 * n for n in range(11)]
    assert calibrated_floor(chat) == pytest.approx(0.15)
    assert calibrated_floor(chat, [0.9] * 50) == pytest.approx(0.165)
    assert calibrated_floor(chat, [0.12] * 50) == 0.12
    assert calibrated_floor([], [0.5]) == 0.0
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_the_nearest_cosine_is_the_best_of_all_tools(make_router: Callable) -> None:
    router, _db, _catalog = make_router()
    query = "please post my message about the time"
    isos = [tool.iso for tool in router.route(query).tools]
    assert nearest_iso(router, query) == pytest.approx(max(isos))
    silent, _db, _catalog = make_router(encoder=False)
    assert nearest_iso(silent, query) == 0.0


def test_our_chit_chat_is_thirty_and_thirty_more_are_held_out() -> None:
    own, other = own_chit_chat(), own_chit_chat("chit-chat-heldout")
    assert len(own) == 30
    assert len(other) >= 30
    assert not set(own) & set(other)


def test_runs_are_stored_and_compared(make_router: Callable, labelled: list[LabelRecord]) -> None:
    router, db, _catalog = make_router()
    found = calibrate(router, labelled, settings=PLAIN)
    run = save_run(db, found, found.settings(PLAIN), model="words@1", clock=lambda: 5.0)
    (stored,) = queries.runs(db)
    assert (stored.id, stored.at, stored.fingerprint) == (run.id, 5.0, run.fingerprint)
    assert stored.result["passed"] == dict(found.passed)
    assert stored.settings["theta"] == found.theta.best.value
    same = compare(stored, run)
    assert same.same_catalogue
    assert not (same.fixed or same.regressed or same.new)


def test_a_comparison_says_what_became_of_each_query() -> None:
    earlier = RunRecord(1, 1.0, "m:a", {}, {"passed": {"a": False, "b": True, "c": False}})
    passed = {"a": True, "b": False, "c": False, "d": True, "e": False}
    found = compare(earlier, RunRecord(2, 2.0, "m:b", {}, {"passed": passed}))
    assert (found.fixed, found.regressed, found.still_failing) == (("a",), ("b",), ("c",))
    assert (found.passed, found.new, found.same_catalogue) == ((), ("d", "e"), False)
