"""Suggestions that need no log of calls."""

from dataclasses import replace

import pytest

from app.policy.budget import Budget
from app.policy.pruner import propose
from app.policy.suggestions import suggest
from app.policy.usage import Usage
from store.records import Observed
from tests.app.policy.conftest import Make

NONE = Usage()


def suggested(tools, usage=NONE, **more):
    return suggest(tools, propose(tools, Budget(), usage), usage, **more)


def described(tool, tokens):
    return replace(tool, tokens=replace(tool.tokens, description=tokens))


def test_the_five_that_take_most_are_named_with_their_share(make: Make) -> None:
    tools = [make(f"a/tool{n}", 500 + n) for n in range(7)] + [make("b/small", 100)]
    (move,) = suggested(tools)
    assert (move.kind, move.title, move.chosen) == ("largest", "The 5 tools that take most", False)
    assert [tool.cost for tool in move.tools] == [506, 505, 504, 503, 502]
    assert move.saves == 2_520
    assert move.evidence.startswith("70 % of all that is on.")


def test_small_pinned_and_hidden_tools_are_no_suggestion(make: Make) -> None:
    tools = [make("a/x", 499), make("a/y", 900, pinned=True), make("a/z", 900, on=False)]
    assert suggested(tools) == ()


def test_one_that_is_large_for_its_words_is_named_for_those(make: Make) -> None:
    tools = [described(make("a/wordy", 900), 640), make("a/schema", 800)]
    wordy, largest = suggested(tools)
    assert (wordy.kind, wordy.title) == (
        "long description",
        "1 tool with a description of 300 tokens and more",
    )
    assert wordy.evidence == "Tokens of the description alone: a/wordy (640)."
    assert [tool.tool.tool_id for tool in largest.tools] == ["a/schema"]
    assert largest.title == "1 tool, the largest of the others"


def test_a_host_that_sends_names_only_has_no_long_descriptions(make: Make) -> None:
    assert suggested([described(make("a/wordy", 12), 640)]) == ()


@pytest.mark.parametrize(("on", "gone"), [(35, 0), (36, 4), (40, 8), (52, 20)])
def test_near_a_hosts_own_limit_the_largest_make_room(make: Make, on: int, gone: int) -> None:
    tools = [make(f"a/tool{n}", 100 + n) for n in range(on)]
    moves = suggested(tools, host="Cursor", limit=40)
    assert [len(move.tools) for move in moves] == ([gone] if gone else [])
    for move in moves:
        words = f"{gone} tools, the largest, as Cursor takes 40 and {on} are on"
        assert move.title == words and move.kind == "host limit"
        assert move.tools[0].cost == 99 + on
        assert move.evidence.startswith("32 would be left")


def test_what_is_called_or_proposed_already_is_not_suggested(make: Make) -> None:
    usage = Usage(days=30.0, seen=Observed(hosts=1), calls={"a/used": 9})
    tools = [make("a/used", 900), make("a/unused", 800)]
    assert suggested(tools, usage) == ()  # the unused one is a move of the plan


def test_the_last_one_has_what_the_others_lack_for_the_budget(make: Make) -> None:
    tools = [make(f"a/tool{n}", 600 - n) for n in range(9)] + [make("a/keep", 50, pinned=True)]
    budget = Budget(limit=700)
    plan = propose(tools, budget, NONE)
    largest, more = suggest(tools, plan, NONE)
    assert (more.kind, more.title, more.chosen) == (
        "next largest",
        "3 tools more, the next largest",
        False,
    )
    assert plan.within((*largest.tools, *more.tools))
    assert not plan.within((*largest.tools, *more.tools[1:]))


def test_nothing_more_is_offered_where_all_would_not_do(make: Make) -> None:
    tools = [make(f"a/tool{n}", 600) for n in range(9)] + [make("a/keep", 900, pinned=True)]
    (move,) = suggest(tools, propose(tools, Budget(limit=500), NONE), NONE)
    assert move.kind == "largest"


def test_a_cap_on_their_number_counts_too(make: Make) -> None:
    tools = [make(f"a/tool{n}", 10) for n in range(9)]
    (move,) = suggest(tools, propose(tools, Budget(max_tools=4), NONE), NONE)
    assert (move.kind, len(move.tools)) == ("next largest", 5)
