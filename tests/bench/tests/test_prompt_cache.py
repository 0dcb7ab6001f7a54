import pytest

from tests.bench.prompt_cache import SYSTEM, TASK, TURNS, shares

GIVEN = {"full": 1000.0, "retrieved": 100.0, "pool": 50.0, "promoted": 20.0, "menu": 10.0}


def test_a_constant_list_is_cached_and_a_changing_one_spoils_everything_behind_it() -> None:
    found = {name: (share, fresh) for name, share, fresh in shares(**GIVEN, answer=0.0)}
    share, fresh = found["B1, list constant"]
    # sent once: the list and the system prompt in the first turn, then each turn's own text
    assert fresh == pytest.approx(1000 + SYSTEM + TASK)
    assert 0.9 < share < 1
    assert found["B1, list changes every turn"][0] == 0
    assert found["B3, tools in front"][0] == 0


def test_promoted_schemas_cost_their_own_tokens_and_the_turn_behind_them() -> None:
    found = {name: fresh for name, _, fresh in shares(**GIVEN, answer=0.0)}
    turn = TASK / TURNS
    expected = 50 + SYSTEM + (20 + turn) + (TURNS - 1) * (turn + 20 + turn)
    assert found["Tool Attention"] == pytest.approx(expected)


def test_answers_of_a_search_stay_in_the_history_and_are_sent_once() -> None:
    found = {name: fresh for name, _, fresh in shares(**GIVEN, answer=300.0)}
    assert found["Toolcrib gateway (search)"] == pytest.approx(10 + SYSTEM + TASK + TURNS * 300)
