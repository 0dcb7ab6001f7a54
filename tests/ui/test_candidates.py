"""The table of candidates."""

import pytest
from PySide6.QtCore import Qt

from app.catalog.availability import Reason
from app.ranking.gates import SCORE, TRUSTED, Verdict
from app.ranking.ranked import RankedTool
from ui.pages.playground.candidates import CandidateModel
from ui.pages.playground.cells import RANKED_ROLE
from ui.shell.gate_lines import Line


def ranked_tool(rank: int, name: str, verdict: Verdict | None = None):
    score = 1 - rank / 10
    return RankedTool(
        id=rank,
        tool_id=f"github/{name}",
        server="github",
        name=name,
        rank=rank,
        score=score,
        iso=score / 2,
        keyword=1.0,
        parts=(("Words", score),),
        matched=(),
        verdict=verdict or Verdict(""),
        tokens=1000 + rank,
        step=-1,
    )


TOOLS = (
    ranked_tool(1, "search_code"),
    ranked_tool(2, "post", verdict=Verdict(TRUSTED, reasons=(Reason("new"),))),
    ranked_tool(3, "merge", verdict=Verdict(SCORE, have=0.7, needed=0.75)),
)


LINE = Line(0.75, by_meaning=False)


@pytest.fixture
def model(qtmodeltester):
    model = CandidateModel()
    model.show(TOOLS, LINE)
    qtmodeltester.check(model, force_py=True)
    return model


def picture(model):
    rows = range(model.rowCount())
    columns = range(model.columnCount())
    return [" | ".join(model.index(r, c).data() for c in columns) for r in rows]


def test_rows_say_rank_verdict_score_reason_and_tokens(model):
    assert picture(model) == [
        "1 | In | github/search_code | 0.90 | Above threshold | 1,001",
        "2 | Held | github/post | 0.80 | It is new and waits in Review | 1,002",
        "3 | Out | github/merge | 0.70 | 0.70 is under 0.75 | 1,003",
    ]


def test_every_cell_has_words_for_a_screen_reader(model):
    for row in range(model.rowCount()):
        for column in range(model.columnCount()):
            assert model.index(row, column).data(Qt.ItemDataRole.AccessibleTextRole)


def test_a_wanted_tool_comes_first_whatever_its_rank(model):
    assert model.find("merge") == 1
    assert [model.row(row).rank for row in range(3)] == [3, 1, 2]
    assert model.find("") == 0
    assert [model.row(row).rank for row in range(3)] == [1, 2, 3]


def test_new_verdicts_over_the_same_ranking_reset_nothing(model, qtbot):
    with qtbot.waitSignal(model.dataChanged), qtbot.assertNotEmitted(model.modelReset):
        model.show((*TOOLS[:2], ranked_tool(3, "merge")), LINE)
    assert model.index(2, 1).data() == "In"


def test_another_ranking_replaces_the_rows(model, qtbot):
    with qtbot.waitSignal(model.modelReset):
        model.show(TOOLS[::-1], LINE)
    assert model.index(0, 0).data(RANKED_ROLE) is TOOLS[2]
    assert model.row_of("github/search_code") == 2
    assert model.row_of("nothing") == -1


def test_under_a_fixed_threshold_the_column_shows_what_the_gate_compares(model):
    model.show(TOOLS, Line(0.28, by_meaning=True))
    assert model.headerData(3, Qt.Orientation.Horizontal) == "Meaning"
    assert model.index(0, 3).data() == "0.45"
