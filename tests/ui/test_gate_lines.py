"""The gates of the explain card."""

from dataclasses import replace

import pytest

from app.catalog.availability import Reason
from app.core.settings import RoutingSettings
from app.ranking.gates import BUDGET, GATES, ON, SCORE, TOP_K, TRUSTED, Cut, Verdict
from app.ranking.ranked import Ranked, RankedTool
from ui.shell.gate_lines import FAILED, NOT_ASKED, PASSED, Line, gate_lines

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
    verdict=Verdict(""),
    tokens=500,
    step=-1,
)
LINE = Line(0.55, by_meaning=False)


def lines(tool, *, line=LINE, settings=None):
    answer = Ranked("q", (tool,), 500, "", Cut("delta", 0.55, 0.8), False, tool)
    found = gate_lines(tool, answer, line=line, settings=settings or RoutingSettings())
    return {one.gate: (one.state, one.value) for one in found}


def test_a_tool_that_is_in_passed_every_gate():
    found = lines(TOOL)
    assert list(found) == list(GATES)
    assert {state for state, _ in found.values()} == {PASSED}
    assert found[SCORE] == (PASSED, "0.63 ≥ 0.55")
    assert found[TOP_K] == (PASSED, "place 1 of 10")


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        (Verdict(ON, reasons=(Reason("off"),)), "it is turned off in this profile"),
        (Verdict(TRUSTED, reasons=(Reason("changed"),)), "its text changed after it was trusted"),
        (Verdict(SCORE, have=0.63, needed=0.7), "0.63 is under 0.70"),
        (Verdict(TOP_K, have=11, needed=10), "rank 11, top-k is 10"),
        (Verdict(BUDGET, have=19_800, needed=20_000), "no room: 19.8k of 20k used"),
    ],
)
def test_exactly_one_gate_fails_and_those_behind_it_were_not_asked(verdict, value):
    gate = verdict.gate
    line = Line(0.70, by_meaning=False) if gate == SCORE else LINE
    found = lines(replace(TOOL, verdict=verdict), line=line)
    assert found[gate] == (FAILED, value)
    place = GATES.index(gate)
    assert {found[g][0] for g in GATES[:place]} <= {PASSED}
    assert {found[g][0] for g in GATES[place + 1 :]} <= {NOT_ASKED}


def test_a_fixed_threshold_compares_the_meaning():
    assert lines(TOOL, line=Line(0.28, by_meaning=True))[SCORE] == (PASSED, "0.31 ≥ 0.28")


def test_two_figures_that_look_alike_are_not_called_different():
    nothing = replace(TOOL, score=0.0, verdict=Verdict(SCORE, have=0.0, needed=1e-9))
    found = lines(nothing, line=Line(1e-9, by_meaning=False))
    assert found[SCORE] == (FAILED, "nothing of the query is in it")


def test_a_pinned_tool_passes_score_and_top_k_by_its_pin():
    found = lines(replace(TOOL, verdict=Verdict("", pinned=True), score=0.1))
    assert found[SCORE] == found[TOP_K] == (PASSED, "pinned")


def test_a_token_budget_says_how_full_it_is():
    settings = RoutingSettings(token_budget=20_000)
    assert lines(TOOL, settings=settings)[BUDGET] == (PASSED, "500 of 20k")
