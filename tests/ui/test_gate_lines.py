"""The six gates of the explain card."""

from dataclasses import replace

import pytest

from app.routing.gates import PINNED_IN
from app.routing.ranked import BUDGET, GATES, ON, SCORE, TOP_K, TRUSTED, Ranked, RankedTool
from app.settings import RoutingSettings
from ui.models.gate_lines import FAILED, NOT_ASKED, PASSED, Line, gate_lines

TOOL = RankedTool(
    id=1,
    tool_id="github/search_code",
    server="github",
    name="search_code",
    rank=3,
    score=0.63,
    iso=0.31,
    keyword=1.0,
    parts=(("Words", 0.2), ("Meaning", 0.43)),
    matched=("code",),
    shown=True,
    gate="",
    why="Above threshold",
    remedy=None,
    tokens=500,
)
LINE = Line(0.55, by_meaning=False)


def lines(tool, *, line=LINE, settings=None):
    answer = Ranked("q", (tool,), 500, "", False, tool)
    found = gate_lines(tool, answer, line=line, settings=settings or RoutingSettings())
    return {one.gate: (one.state, one.value) for one in found}


def test_a_tool_that_is_in_passed_every_gate():
    found = lines(TOOL)
    assert list(found) == list(GATES)
    assert {state for state, _ in found.values()} == {PASSED}
    assert found[SCORE] == (PASSED, "0.63 ≥ 0.55")
    assert found[TOP_K] == (PASSED, "place 1 of 10")


@pytest.mark.parametrize(
    ("gate", "why", "value"),
    [
        (ON, "You turned it off", "you turned it off"),
        (TRUSTED, "Held back: description changed", "description changed"),
        (SCORE, "Score 0.63 is under 0.70", "0.63 < 0.70"),
        (TOP_K, "Rank 11, top-k is 10", "rank 11, top-k is 10"),
        (BUDGET, "No room: 19.8k of 20k used", "19.8k of 20k used"),
    ],
)
def test_exactly_one_gate_fails_and_those_behind_it_were_not_asked(gate, why, value):
    line = Line(0.70, by_meaning=False) if gate == SCORE else LINE
    found = lines(replace(TOOL, shown=False, gate=gate, why=why), line=line)
    assert found[gate] == (FAILED, value)
    place = GATES.index(gate)
    assert {found[g][0] for g in GATES[:place]} <= {PASSED}
    assert {found[g][0] for g in GATES[place + 1 :]} <= {NOT_ASKED}


def test_a_fixed_threshold_compares_the_meaning():
    assert lines(TOOL, line=Line(0.28, by_meaning=True))[SCORE] == (PASSED, "0.31 ≥ 0.28")


def test_a_pinned_tool_passes_score_and_top_k_by_its_pin():
    found = lines(replace(TOOL, why=PINNED_IN, score=0.1))
    assert found[SCORE] == found[TOP_K] == (PASSED, "pinned")


def test_a_token_budget_says_how_full_it_is():
    settings = RoutingSettings(token_budget=20_000)
    assert lines(TOOL, settings=settings)[BUDGET] == (PASSED, "500 of 20k")
