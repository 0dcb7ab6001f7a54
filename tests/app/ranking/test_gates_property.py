"""Properties of ranking and gates that hold for any scores and settings."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.catalog.availability import Conditions
from app.catalog.catalog import CatalogTool
from app.catalog.conditions import State
from app.core.settings import RoutingSettings
from app.ranking import phrases
from app.ranking.fuse import NO_EXTRAS, Extras, Signals, fuse, shares
from app.ranking.gates import EARLY, GATES, SCORE, Candidate, Verdict, judge
from store.records import ServerRecord, ServerSpec, TokenCount, ToolRecord

SERVER = ServerRecord(1, "s", ServerSpec("stdio", "k"), True, "read", "")
SCORES = st.floats(0, 1, allow_nan=False)
CONDITIONS = Conditions.of({}, {"s/needs_*": ["milestone(plan)"]})


def candidate(number, *, score, iso, on, held, pinned, tokens, needs):
    name = f"needs_{number}" if needs else f"tool_{number}"
    tool = ToolRecord(number, 1, "s", name, {"name": name}, "h", "h")
    count = TokenCount(number, "e", 0, 0, 0, 0, 0, tokens)
    row = CatalogTool(tool, SERVER, on, pinned, "changed" if held else "", count, "")
    return Candidate(row, score, iso, 0.0, (("Meaning", score),))


ONE = st.fixed_dictionaries(
    {
        "score": SCORES,
        "iso": st.floats(-1, 1),
        "on": st.booleans(),
        "held": st.booleans(),
        "pinned": st.booleans(),
        "tokens": st.integers(0, 900),
        "needs": st.booleans(),
    }
)
CANDIDATES = st.lists(ONE, max_size=25).map(
    lambda rows: sorted((candidate(i, **r) for i, r in enumerate(rows)), key=lambda c: -c.score)
)


def shown(candidates, chosen, **more):
    verdicts = judge(candidates, chosen, conditions=CONDITIONS, **more).verdicts
    return {c.row.tool.id for c, v in zip(candidates, verdicts, strict=True) if not v.gate}


@given(CANDIDATES, st.floats(-1, 1), st.floats(0, 1))
def test_raising_theta_never_adds_a_tool_when_top_k_is_off(candidates, theta, step):
    low = RoutingSettings(cut="theta", theta=theta, k=0)
    high = RoutingSettings(cut="theta", theta=theta + step, k=0)
    assert shown(candidates, high) <= shown(candidates, low)


@given(CANDIDATES, st.sampled_from(["theta", "relative"]), st.integers(0, 6), st.integers(0, 3000))
def test_the_order_of_the_first_gates_never_changes_what_is_in(candidates, cut, k, budget):
    chosen = RoutingSettings(cut=cut, k=k, token_budget=budget)
    expected = shown(candidates, chosen)
    for order in permutations(EARLY):
        assert shown(candidates, chosen, order=order) == expected


@given(CANDIDATES, st.sampled_from(["theta", "relative"]), st.floats(0, 0.5))
def test_a_tool_is_out_for_a_reason_and_in_without_one(candidates, cut, floor):
    chosen = RoutingSettings(cut=cut, floor=floor, k=3, token_budget=1500)
    for verdict in judge(candidates, chosen, conditions=CONDITIONS).verdicts:
        assert verdict.gate in ("", *GATES)
        assert phrases.why(verdict) and "0.0000 is under 0.0000" not in phrases.why(verdict)
        assert bool(verdict.gate) == (verdict.remedy is not None) == bool(phrases.remedy(verdict))


@settings(deadline=None)
@given(CANDIDATES, st.sampled_from(["theta", "relative"]), st.floats(0, 0.6))
def test_every_remedy_of_a_setting_lets_the_tool_in(candidates, cut, floor):
    chosen = RoutingSettings(cut=cut, floor=floor, k=3, token_budget=1500)
    verdicts = judge(candidates, chosen, conditions=CONDITIONS).verdicts
    for one, verdict in zip(candidates, verdicts, strict=True):
        if verdict.remedy and verdict.remedy.changes[0] in (
            "theta",
            "delta",
            "floor",
            "k",
            "token_budget",
        ):
            fields = {name: getattr(chosen, name) for name in chosen.__slots__}
            fields[verdict.remedy.changes[0]] = verdict.remedy.value
            assert one.row.tool.id in shown(candidates, RoutingSettings(**fields)), verdict


@given(CANDIDATES)
def test_a_met_precondition_lets_at_least_the_same_gate_pass(candidates):
    chosen = RoutingSettings(cut="theta", theta=-1.0, k=0)
    met = State(milestones=frozenset({"plan"}))
    assert shown(candidates, chosen) <= shown(candidates, chosen, state=met)


MAPS = st.dictionaries(st.integers(0, 12), st.floats(-0.3, 1), max_size=12)
WORDS = st.dictionaries(st.integers(0, 12), st.floats(0, 30), max_size=12)


@given(MAPS, WORDS, st.lists(st.tuples(MAPS, WORDS), max_size=4), MAPS, MAPS, st.integers(0, 60))
def test_the_parts_sum_to_the_score(meaning, words, steps, learned, server, length):
    parts = [Signals(m, w) for m, w in steps]
    weights = shares(length, has_steps=bool(parts))
    extras = Extras(learned, server)
    for chosen in (NO_EXTRAS, extras):
        for one in fuse(
            range(13), Signals(meaning, words), parts, weights=weights, extras=chosen
        ).values():
            assert sum(value for _name, value in one.parts) == pytest.approx(one.score, abs=1e-9)
            assert chosen is extras or -1e-9 <= one.score <= 1 + 1e-9


@given(st.integers(0, 500), st.booleans())
def test_the_shares_sum_to_one(length, steps):
    found = shares(length, has_steps=steps)
    total = found.meaning + found.words + found.step_meaning + found.step_words
    assert total == pytest.approx(1)


def test_a_tool_with_nothing_of_the_query_says_so_without_two_equal_figures():
    assert phrases.why(Verdict(SCORE, have=0.0, needed=1e-9)) == "Nothing of the query is in it"
    assert phrases.why(Verdict(SCORE, have=0.626, needed=0.631)) == "0.6260 is under 0.6310"
    assert phrases.why(Verdict(SCORE, have=0.63091, needed=0.63094)) == "Just under 0.6309"
