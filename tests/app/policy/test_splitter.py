from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.catalog.catalog import CatalogTool
from app.policy.budget import Budget
from app.policy.splitter import _by_server, _units, split
from tests.app.policy.conftest import Make
from tests.fakes.cpu_time import CpuTime


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


def by_trying_everything(tools: list[CatalogTool], budget: Budget, together) -> list[list[str]]:
    """The same choice made the slow way: every unit against every part at every step."""
    runs = [unit for server in _by_server(tools) for unit in _units(server, budget)]
    units = [[t.tool.tool_id for t in unit.tools] for unit in runs]
    cost = {t.tool.tool_id: t.cost for t in tools}
    units.sort(key=lambda u: (-sum(cost[i] for i in u), u[0]))
    where = {tool: n for n, unit in enumerate(units) for tool in unit}
    close = {
        (a, b): (units[a][0].split("/")[0] == units[b][0].split("/")[0])
        + sum({a, b} <= {where[i] for i in session if i in where} for session in together)
        for a, b in combinations(range(len(units)), 2)
    }
    left, parts = dict(enumerate(units)), []

    def fits(part, unit) -> bool:
        names = [i for n in part for i in units[n]] + unit
        most = budget.max_tools or len(names)
        return sum(cost[i] for i in names) <= budget.limit and len(names) <= most

    while left:
        options = [(p, n) for p in parts for n, unit in left.items() if fits(p, unit)]
        best = max(
            options,
            key=lambda o: (sum(close[min(n, o[1]), max(n, o[1])] for n in o[0]), -o[1]),
            default=None,
        )
        if best is None:
            best = [], min(left)
            parts.append(best[0])
        left.pop(best[1])
        best[0].append(best[1])
    return [[i for n in part for i in units[n]] for part in parts]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_choice_is_the_one_of_trying_everything(make: Make, data: st.DataObject) -> None:
    names = [f"s{n}" for n in range(data.draw(st.integers(1, 7)))]
    tools = [
        make(f"{name}/t{n}", cost)
        for name in names
        for n, cost in enumerate(data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=4)))
    ]
    limit = data.draw(st.integers(60, 240))
    budget = Budget(limit=limit, max_tools=data.draw(st.sampled_from([0, 2, 3, 5])))
    ids = st.sampled_from([t.tool.tool_id for t in tools])
    together = data.draw(st.lists(st.lists(ids, max_size=4), max_size=8))
    found = [[t.tool.tool_id for t in part.tools] for part in split(tools, budget, together)]
    assert found == by_trying_everything(tools, budget, together)


def test_ten_thousand_tools_are_split_in_linear_time(make: Make) -> None:
    shapes = (
        [make(f"s{n % 700}/t{n}_x{n % 13}", 40 + n % 200) for n in range(10_000)],
        [make(f"one/t{n}", 90 + n % 20) for n in range(10_000)],
    )
    for tools in shapes:
        for limit in (100, 5_000, 100_000):
            with CpuTime() as cpu:
                parts = split(tools, Budget(limit=limit))
            assert cpu.seconds < 5.0, (tools[0].server.name, limit)
            assert sum(len(part.tools) for part in parts) == 10_000
