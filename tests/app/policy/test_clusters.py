"""Profiles by clusters of use; "Shown by" 6 of issue 31 is `test_held_out_calls...`."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from app.core.errors import ToolcribError
from app.policy.budget import Budget
from app.policy.clusters import plan_split
from app.policy.sessions import HOST, PROJECT, Owner, Session
from tests.app.policy.conftest import Make

TOKENS: Mapping[str, Mapping[str, int]] = json.loads(
    (Path(__file__).parents[2] / "data" / "real_tool_tokens.json").read_text(encoding="utf-8")
)  # of 199 tools of 17 real servers, counted with o200k_base
STRAY = 0.02  # of calls: to any tool at all
JUDGED = 100  # held-out calls, of each seed
SEEDS = range(10, 20)  # not those that the method was made with


def simulated_sessions(random: Random) -> list[Session]:
    """Sessions of seven owners: three to five servers each, few tools often and many rarely."""
    tools = [f"{server}/{tool}" for server, named in TOKENS.items() for tool in named]
    sessions: list[Session] = []
    for number in range(7):
        owner = Owner(PROJECT, f"-work-p{number}") if number < 5 else Owner(HOST, f"h{number}")
        servers = random.sample(sorted(TOKENS), random.randint(3, 5))
        own = [f"{server}/{tool}" for server in servers for tool in TOKENS[server]]
        random.shuffle(own)
        weights = [1 / (rank + 1) for rank in range(len(own))]
        for _ in range(40):
            calls: dict[str, int] = {}
            for _call in range(random.randint(3, 12)):
                stray = random.random() < STRAY
                tool = random.choice(tools) if stray else random.choices(own, weights)[0]
                calls[tool] = calls.get(tool, 0) + 1
            sessions.append(Session(owner, calls))
    random.shuffle(sessions)
    return sessions


def test_held_out_calls_find_their_tool_in_profiles_inside_the_budget(make: Make) -> None:
    tools = [make(f"{s}/{t}", cost) for s, named in TOKENS.items() for t, cost in named.items()]
    assert (len(TOKENS), len(tools)) == (17, 199)
    found = 0
    for seed in SEEDS:
        random = Random(seed)
        sessions = simulated_sessions(random)
        half = len(sessions) // 2
        plan = plan_split("default", tools, Budget(limit=20_000), sessions[:half])
        assert all(profile.tokens <= 20_000 for profile in plan.profiles)
        assert {t.tool.id for p in plan.profiles for t in p.tools} == {t.tool.id for t in tools}
        held = [
            (session.owner, tool)
            for session in sessions[half:]
            for tool, number in session.calls.items()
            for _ in range(number)
        ]
        for owner, tool in random.sample(held, JUDGED):
            profile = next((p for p in plan.profiles if owner in [s.owner for s in p.served]), None)
            found += profile is not None and tool in {t.tool.tool_id for t in profile.tools}
    assert found >= 0.95 * JUDGED * len(SEEDS), found


def test_without_calls_profiles_follow_servers_and_cover_every_tool(make: Make) -> None:
    tools = [make(f"{server}/t{n}", 100) for server in "abcd" for n in range(4)]
    plan = plan_split("default", tools, Budget(limit=900), [], ["a, b"])
    assert [profile.name for profile in plan.profiles] == ["a, b 2", "c, d"]
    assert plan.evidence == "By server: no calls are known yet."
    assert plan.profiles[0].loss == "Without 8 tools (800 tokens)."


def test_tools_called_in_one_session_share_a_profile_across_servers(make: Make) -> None:
    tools = [make(f"{server}/t{n}", 100) for server in "abc" for n in range(4)]
    sessions = [Session(Owner(HOST, "cursor"), {"a/t0": 3, "c/t1": 2, "gone/t": 1})]
    plan = plan_split("default", tools, Budget(limit=500), sessions)
    first = plan.profiles[0]
    assert {"a/t0", "c/t1"} <= {t.tool.tool_id for t in first.tools} and first.tokens == 500
    assert [(one.owner.key, one.calls, one.kept) for one in first.served] == [("cursor", 6, 5)]
    assert first.loss == "Without 7 tools (700 tokens). 1 of the 6 calls seen went to them."
    assert all(profile.tokens <= 500 for profile in plan.profiles)


def test_pinned_tools_are_in_every_profile_and_must_fit(make: Make) -> None:
    tools = [make("a/pin", 200, pinned=True), *(make(f"b/t{n}", 200) for n in range(4))]
    plan = plan_split("default", tools, Budget(limit=600), [])
    assert all("a/pin" in {t.tool.tool_id for t in p.tools} for p in plan.profiles)
    assert [p.tokens for p in plan.profiles] == [600, 600]
    with pytest.raises(ToolcribError, match="pinned tools alone are over the budget"):
        plan_split("default", tools, Budget(limit=100), [])


def test_a_tool_over_the_budget_by_itself_is_named_and_in_no_profile(make: Make) -> None:
    plan = plan_split(
        "default", [make("a/huge", 900), make("a/x"), make("b/y")], Budget(limit=100), []
    )
    assert [t.tool.tool_id for t in plan.left_out] == ["a/huge"]
    assert [p.tokens for p in plan.profiles] == [100, 100]


def test_the_cap_on_the_number_of_tools_holds_in_every_profile(make: Make) -> None:
    tools = [make(f"a/t{n}", 10) for n in range(10)]
    sessions = [Session(Owner(HOST, "h"), {f"a/t{n}": 1 for n in range(8)})]
    plan = plan_split("default", tools, Budget(max_tools=4), sessions)
    assert all(len(p.tools) <= 4 for p in plan.profiles)
    assert {t.tool.id for p in plan.profiles for t in p.tools} == {t.tool.id for t in tools}


def test_a_costly_tool_called_once_gives_way_to_cheap_ones_of_its_server(make: Make) -> None:
    tools = [make("a/big", 900), make("a/t", 100), *(make(f"a/u{n}", 50) for n in range(8))]
    sessions = [Session(Owner(HOST, "h"), {"a/t": 2, "a/big": 1})]
    first, second = plan_split("default", tools, Budget(limit=1_000), sessions).profiles
    assert "a/big" not in {t.tool.tool_id for t in first.tools} and len(first.tools) == 9
    assert [t.tool.tool_id for t in second.tools] == ["a/big"]
    assert first.loss == "Without 1 tool (900 tokens). 1 of the 3 calls seen went to them."
    often = [Session(Owner(HOST, "h"), {"a/t": 2, "a/big": 2})]
    kept = plan_split("default", tools, Budget(limit=1_000), often).profiles[0]
    assert {t.tool.tool_id for t in kept.tools} == {"a/big", "a/t"}
