"""What Router.route() answers, on a small real store."""

from dataclasses import replace

import pytest

from app.catalog.conditions import State
from app.core.settings import ProfileSettings, RoutingSettings
from app.ranking.gates import GATES
from app.ranking.phrases import why as phrase
from app.ranking.ranked import Request
from store import profiles
from store.connection import transaction

QUERY = "create an issue in the repository"


def names(ranked):
    return [tool.tool_id for tool in ranked.shown]


def test_the_best_tool_comes_first_with_its_words_and_its_reason(make_router):
    router, _db, _catalog = make_router()
    best = router.route(QUERY).tools[0]
    assert best.tool_id == "github/create_issue"
    assert (best.rank, best.shown, best.gate, phrase(best.verdict)) == (
        1,
        True,
        "",
        "Above threshold",
    )
    assert best.matched == ("create", "issue", "repository")
    assert best.verdict.remedy is None


def test_every_tool_is_ranked_and_its_parts_sum_to_its_score(make_router):
    router, _db, catalog = make_router()
    ranked = router.route(QUERY)
    assert [tool.rank for tool in ranked.tools] == list(range(1, len(catalog.tools) + 1))
    for tool in ranked.tools:
        assert sum(part for _name, part in tool.parts) == pytest.approx(tool.score, abs=1e-9)
        assert phrase(tool.verdict)
        assert tool.gate in ("", *GATES)
        assert (tool.verdict.remedy is None) == tool.shown


def test_without_an_encoder_words_decide_and_the_answer_says_so(make_router):
    router, _db, _catalog = make_router(encoder=False)
    ranked = router.route(QUERY)
    assert ranked.words_only
    assert ranked.note == "Meaning scores are off (model not found). Words only."
    assert ranked.tools[0].tool_id == "github/create_issue"
    assert all(tool.iso is None for tool in ranked.tools)


def test_without_an_encoder_a_query_that_matches_nothing_finds_no_tool(make_router):
    router, _db, _catalog = make_router(encoder=False)
    ranked = router.route("zzz qqq")
    assert not ranked.shown
    nearest = ", ".join(tool.tool_id for tool in ranked.tools[:3])
    assert ranked.note.endswith(f"No tool fits. Nearest: {nearest}.")
    assert ranked.nearest is not None


def test_each_gate_names_its_own_reason(make_router):
    def change(db):
        with transaction(db):
            ids = {name: i for i, name in db.execute("SELECT id, name FROM tools")}
            profiles.set_on(db, 1, [ids["create_issue"]], False)
            profiles.set_held(db, 1, [ids["move_file"]], "held")
            conditions = {"github/merge*": ["after(github/list_commits)"]}
            routing = {"cut": "theta", "theta": -1.0, "k": 3}
            settings = {"preconditions": conditions, "routing": routing}
            profiles.save_settings(db, 1, settings)

    router, _db, _catalog = make_router(change=change)
    why = {tool.name: (tool.gate, phrase(tool.verdict)) for tool in router.route(QUERY).tools}
    assert why["create_issue"] == ("on", "It is turned off in this profile")
    assert why["move_file"] == ("trusted", "Held back: the user holds it back")
    assert why["merge_pull_request"] == (
        "precondition",
        "Precondition: github/list_commits was not called yet",
    )
    assert ("top-k", "Rank 4, top-k is 3") in why.values()
    met = router.route(QUERY, state=State(called=("github/list_commits",)))
    assert {t.name: t.gate for t in met.tools}["merge_pull_request"] != "precondition"


def test_the_score_gate_compares_cosines_under_theta_and_scores_under_the_relative_cut(make_router):
    router, _db, _catalog = make_router(settings=RoutingSettings(cut="theta", theta=0.99))
    ranked = router.route(QUERY)
    assert not ranked.shown
    best = ranked.tools[0]
    assert phrase(best.verdict) == f"{best.iso:.2f} is under 0.99"
    relative = router.judge(router.score(QUERY), settings=RoutingSettings(delta=0.0))
    assert names(relative) == ["github/create_issue"]


def test_the_floor_answers_that_no_tool_fits(make_router):
    router, _db, _catalog = make_router(settings=RoutingSettings(floor=0.99))
    ranked = router.route(QUERY)
    assert not ranked.shown
    nearest = ", ".join(tool.tool_id for tool in ranked.tools[:3])
    assert ranked.note == f"No tool fits. Nearest: {nearest}."
    assert ranked.tools[0].verdict.remedy.changes == ("floor",)


def test_a_pinned_tool_is_always_in(make_router):
    def change(db):
        with transaction(db):
            ids = {name: i for i, name in db.execute("SELECT id, name FROM tools")}
            profiles.set_pinned(db, 1, [ids["post_message"]], True)

    router, _db, _catalog = make_router(change=change, settings=RoutingSettings(k=1))
    ranked = router.route(QUERY)
    assert names(ranked) == ["github/create_issue", "slack/post_message"]
    assert phrase(ranked.shown[1].verdict) == "Pinned: always in"


def test_every_remedy_does_what_it_says(make_router):
    base = RoutingSettings(k=2, delta=0.3)
    router, _db, _catalog = make_router(settings=base)
    scored = router.score(QUERY)
    for tool in router.judge(scored).tools:
        remedy = tool.verdict.remedy
        if remedy and remedy.changes[0] in ("k", "delta"):
            changed = replace(base, **{remedy.changes[0]: remedy.value})
            assert tool.tool_id in names(router.judge(scored, settings=changed))


def test_the_limited_form_ranks_like_the_whole_one(make_router):
    router, _db, _catalog = make_router()
    whole, limited = router.route(QUERY), router.route(QUERY, limit=3)
    assert [t.tool_id for t in limited.tools] == [t.tool_id for t in whole.tools[:3]]
    assert [t.score for t in limited.tools] == pytest.approx([t.score for t in whole.tools[:3]])
    assert whole.tools[0].matched and not any(tool.matched for tool in limited.tools)


def test_words_of_all_candidates_count(make_router):
    # more tools hold the word than words alone make candidates, and the one that is meant last
    meant = ("paper", "file", "With one of the others and " * 12 + "record.")
    short = [("a", f"number_{i}", f"Record {i}.") for i in range(150)]
    router, _db, _catalog = make_router([*short, meant])
    query = "file with one of the others and record"
    whole, limited = router.route(query), router.route(query, limit=5)
    assert whole.tools[0].tool_id == "paper/file" and whole.tools[0].keyword > 0
    for ours, theirs in zip(limited.tools, whole.tools, strict=False):
        assert (ours.tool_id, ours.keyword) == (theirs.tool_id, pytest.approx(theirs.keyword))
        assert ours.score == pytest.approx(theirs.score)


def test_allowlists_hide_tools_from_everybody_else(make_router):
    def change(db):
        with transaction(db):
            settings = ProfileSettings(scopes={"github/*": ["role:dev"]})
            profiles.save_settings(db, 1, settings.to_json())

    router, _db, _catalog = make_router(change=change)
    seen = {t.server for t in router.route(QUERY).tools}
    assert "github" not in seen
    assert "github" not in {t.server for t in router.route(QUERY, limit=8).tools}
    dev = State(principals=frozenset({"role:dev"}))
    assert router.route(QUERY, state=dev).tools[0].server == "github"


def test_a_request_may_be_a_record(make_router):
    router, _db, _catalog = make_router()
    assert router.route(Request(QUERY)).tools == router.route(QUERY).tools


@pytest.mark.parametrize(
    "query", ["", "   ", "🎉🎉", "创建一个问题", "أنشئ مشكلة", "file " * 25_000]
)
def test_odd_queries_are_answered(make_router, query):
    router, _db, catalog = make_router()
    assert len(router.route(query).tools) == len(catalog.tools)
    router.route(query, limit=5)


@pytest.mark.parametrize("count", [0, 1])
def test_tiny_catalogues_are_answered(make_router, count):
    router, _db, _catalog = make_router([("a", f"tool_{i}", "Does a thing.") for i in range(count)])
    assert len(router.route("do a thing").tools) == count
    assert len(router.route("do a thing", limit=5).tools) == count


def test_a_words_weight_depends_on_where_a_tool_holds_it(make_router):
    listed = [
        ("a", "invoice", "Something about numbers."),
        ("b", "numbers", "Something about an invoice invoice."),
    ]
    for settings, first in (
        (RoutingSettings(name_weight=10.0, description_weight=0.0), "a/invoice"),
        (RoutingSettings(name_weight=0.0, description_weight=10.0), "b/numbers"),
    ):
        router, _db, _catalog = make_router(listed, encoder=False, settings=settings)
        for limit in (None, 5):
            assert router.route("invoice", limit=limit).tools[0].tool_id == first
