"""Past use on its own, with vectors made so that what is said of each tool is known."""

import numpy as np
import pytest

from app.ranking.learning import past_use
from app.ranking.learning.past_use import Example, PastUse, fit, rescored

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


def favourite(recalled):
    return recalled.best(1, recalled.tools)[0]


def test_a_query_like_nothing_logged_is_told_nothing(past):
    assert told(past, 20, 21) is None


def test_a_query_like_logged_ones_is_told_their_tool(past):
    assert favourite(told(past, 14, 14)) == 102


@pytest.mark.parametrize(("vector", "inner"), [(14, 20), (20, 14)])
def test_either_vector_alone_makes_a_query_like_another_but_less(past, vector, inner):
    half, whole = told(past, vector, inner), told(past, 14, 14)
    assert favourite(half) == 102
    assert 0 < half.tools[102] < whole.tools[102]


ANYWHERE = dict.fromkeys(range(100, 100 + TOOLS), 0.0)  # no tool lies nearer than another


def test_tools_never_logged_get_less_than_the_tool_that_is_meant_but_more_than_the_others(past):
    for row in range(4):
        recalled = told(past, 12 + row, 12 + row)
        changes = recalled.changes(ANYWHERE, recalled.tools)
        meant, *others = sorted((changes[100 + r] for r in range(4)), reverse=True)
        assert changes[100 + row] == meant
        assert all(max(others) < changes[100 + r] < meant for r in range(4, TOOLS))


def test_a_tool_that_cannot_be_had_lifts_no_other(past):
    recalled = told(past, 14, 14)
    whole = recalled.changes(ANYWHERE, recalled.tools)
    without = recalled.changes(ANYWHERE, [100, 101, 103])
    assert 0 <= without[111] < whole[111]
    assert {tool: without[tool] for tool in (100, 101, 102, 103)} == {
        tool: whole[tool] for tool in (100, 101, 102, 103)
    }


def test_a_query_hardly_like_the_log_is_told_nothing(past):
    faint = np.zeros(DIMS, dtype=np.float32)
    faint[[14, 20]] = 0.05, 0.99875
    assert past.recall(faint.tobytes(), AXES[20].tobytes()) is None
    assert past.recall(faint.tobytes(), AXES[14].tobytes()) is not None


def test_training_judges_by_what_a_query_is_told(log):
    past = fit(log, AXES[:TOOLS], keys=range(TOOLS))
    scores = rescored(past, log[1], AXES[:TOOLS])
    recalled = told(past, 13, 13)
    cosines = AXES[:TOOLS] @ np.frombuffer(recalled.direction, "<f4")
    changes = recalled.changes(dict(enumerate(cosines.tolist())), recalled.tools)
    assert (scores - log[1].scores).tolist() == pytest.approx(list(changes.values()), abs=1e-6)
    assert scores.argmax() == 1


def test_stored_bytes_say_the_same(past):
    again = PastUse.from_bytes(past.to_bytes())
    before, after = told(past, 15, 12), told(again, 15, 12)
    assert after.tools == pytest.approx(before.tools, abs=2e-3)
    assert after.guard == pytest.approx(before.guard, abs=2e-3)


def test_the_longer_the_log_the_less_tools_that_it_lacks_get_afterwards():
    shares = [past_use.guard_share(labels) for labels in (20, 50, 200, 800, 100_000)]
    assert shares[0] == shares[1] == past_use.GUARD > shares[2]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == past_use.LEAST_SHARE


def test_the_longer_the_log_the_lower_tools_that_it_lacks_start():
    started = [past_use.handicap(labels) for labels in (20, 50, 200, 100_000)]
    assert started == [0.0, 0.0, 2 * past_use.HANDICAP, past_use.MOST_HANDICAP]


def test_tools_that_start_lower_lose_less_of_what_they_have_in_common(log, monkeypatch):
    beside = AXES[:TOOLS].copy()
    beside[1::2] += AXES[20]  # tools 1 and 3 of the log, and 5 to 11, which no label names
    odd = [one for one in log if one.gold[0] % 2 == 0]

    def lost(labels_more):
        monkeypatch.setattr(past_use, "handicap", lambda _labels: labels_more)
        learned = fit(odd, beside, keys=range(TOOLS))
        recalled = told(learned, 12, 12)
        return -recalled.strength * float(np.frombuffer(recalled.direction, "<f4")[20])

    assert 0 < lost(2.0) < lost(0.0)
