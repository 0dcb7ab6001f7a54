"""Past use on its own, with vectors made so that what is said of each tool is known."""

import numpy as np
import pytest

from app.routing.past_use import GUARD, Example, PastUse, fit, rescored

DIMS, TOOLS = 24, 12
AXES = np.eye(DIMS, dtype=np.float32)


def example(row, *, vector=None, inner=None):
    """A query for one tool, which the fused score puts last."""
    scores = np.full(TOOLS, 0.5, dtype=np.float32)
    scores[row] = 0.3
    asked = AXES[row if vector is None else vector]
    return Example(asked, asked if inner is None else AXES[inner], (row,), scores)


@pytest.fixture(scope="module")
def log():
    """Twenty queries for tools 0 to 3; both vectors of one for tool r lie on axis 12 + r."""
    return [example(r % 4, vector=12 + r % 4, inner=12 + r % 4) for r in range(20)]


@pytest.fixture(scope="module")
def past(log):
    return fit(log, AXES[:TOOLS], keys=range(100, 100 + TOOLS))


def told(past, vector, inner):
    return past.recall(AXES[vector].tobytes(), AXES[inner].tobytes())


def test_a_query_like_nothing_logged_is_told_nothing(past):
    assert told(past, 20, 21) is None


def test_a_query_like_logged_ones_is_told_their_tool(past):
    assert told(past, 14, 14).best(1) == [102]


@pytest.mark.parametrize(("vector", "inner"), [(14, 20), (20, 14)])
def test_either_vector_alone_makes_a_query_like_another_but_less(past, vector, inner):
    half, whole = told(past, vector, inner), told(past, 14, 14)
    assert half.best(1) == [102]
    assert 0 < half.tools[102] < whole.tools[102]


def test_tools_never_logged_get_their_share_of_the_best(past):
    for axis in range(12, 16):
        recalled = told(past, axis, axis)
        assert recalled.guard == pytest.approx(GUARD * max(recalled.tools.values()) + past.guard)
        changes = recalled.changes({100 + row: 0.0 for row in range(TOOLS)})
        assert changes[111] == recalled.guard


def test_training_judges_by_what_a_query_is_told(log):
    past = fit(log, AXES[:TOOLS], keys=range(TOOLS))
    scores = rescored(past, log[1], AXES[:TOOLS])
    recalled = told(past, 13, 13)
    cosines = AXES[:TOOLS] @ np.frombuffer(recalled.direction, "<f4")
    changes = recalled.changes(dict(enumerate(cosines.tolist())))
    assert (scores - log[1].scores).tolist() == pytest.approx(list(changes.values()), abs=1e-6)
    assert scores.argmax() == 1


def test_stored_bytes_say_the_same(past):
    again = PastUse.from_bytes(past.to_bytes())
    before, after = told(past, 15, 12), told(again, 15, 12)
    assert after.tools == pytest.approx(before.tools, abs=2e-3)
    assert after.guard == pytest.approx(before.guard, abs=2e-3)
