from app.policy.budget import Budget
from app.policy.splitter import split
from tests.app.policy.conftest import Make


def test_servers_stay_whole_where_they_fit_and_every_part_is_within_the_budget(make: Make) -> None:
    tools = [make(f"{server}/tool{n}", 100) for server in "abcd" for n in range(4)]
    parts = split(tools, Budget(limit=900))
    assert [p.servers for p in parts] == [("a", "b"), ("c", "d")]
    assert all(p.tokens <= 900 for p in parts)
    assert sum(len(p.tools) for p in parts) == 16
    assert parts[0].name == "1. a, b"


def test_a_server_over_the_budget_is_cut_by_what_its_tools_are_about(make: Make) -> None:
    names = ["create_issue", "create_file", "list_issues", "delete_file", "get_issue", "get_file"]
    parts = split([make(f"github/{n}", 100) for n in names], Budget(limit=300))
    assert [sorted(t.tool.name for t in p.tools) for p in parts] == [
        ["create_file", "delete_file", "get_file"],
        ["create_issue", "get_issue", "list_issues"],
    ]


def test_tools_called_together_end_up_in_one_part(make: Make) -> None:
    tools = [make("a/x", 300), make("b/y", 200), make("c/z", 200)]
    parts = split(tools, Budget(limit=500), [("a/x", "c/z")] * 3 + [("a/x", "b/y")])
    assert [p.servers for p in parts] == [("a", "c"), ("b",)]


def test_the_cap_on_the_number_of_tools_splits_as_well(make: Make) -> None:
    parts = split([make(f"a/t{n}", 1) for n in range(10)], Budget(max_tools=4))
    assert [len(p.tools) for p in parts] == [4, 4, 2]


def test_a_tool_over_the_budget_is_a_part_of_its_own(make: Make) -> None:
    parts = split([make("a/huge", 5_000), make("a/small", 10)], Budget(limit=100))
    assert [p.tokens for p in parts] == [5_000, 10]


def test_hidden_tools_are_left_out_and_nothing_gives_nothing(make: Make) -> None:
    assert split([make("a/off", on=False)], Budget()) == ()
