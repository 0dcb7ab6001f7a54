from collections import defaultdict
from statistics import mean

import pytest

from app.tokens.counters import counter
from app.tokens.host_text import host_text
from tests.bench.data import testbed as beds
from tests.bench.data.testbed import TABLE_2, changes_something, read_testbed, tool_id


@pytest.fixture(scope="module")
def testbed() -> "beds.Testbed":
    return read_testbed(counter("cl100k_base"))


def test_the_testbed_has_the_papers_counts_and_sizes(testbed: "beds.Testbed") -> None:
    count = counter("cl100k_base")
    sizes = defaultdict(list)
    for tool in testbed.tools:
        sizes[tool.server].append(count.count(host_text(dict(tool.raw))))
    assert {server: len(found) for server, found in sizes.items()} == {
        server: tools for server, (tools, _) in TABLE_2.items()
    }
    for server, (_, tokens) in TABLE_2.items():
        assert mean(sizes[server]) == pytest.approx(tokens, rel=0.05)
    # the paper's Table 3 for all 120 schemas
    assert sum(map(sum, sizes.values())) == pytest.approx(47_312, rel=0.01)


def test_every_query_asks_for_tools_that_exist(testbed: "beds.Testbed") -> None:
    names = {tool_id(tool) for tool in testbed.tools}
    assert len(names) == 120
    assert len(testbed.queries) >= 60
    for query in testbed.queries:
        assert query.gold.tools
        assert {*query.gold.tools, *query.gold.same} <= names


def test_no_query_is_a_copy_of_a_description(testbed: "beds.Testbed") -> None:
    described = {str(tool.raw["description"]).rstrip(".").lower() for tool in testbed.tools}
    assert not described & {query.query.lower() for query in testbed.queries}


def test_a_curator_keeps_thirty_tools_of_all_servers(testbed: "beds.Testbed") -> None:
    assert len(testbed.curated) == 30
    assert {name.split("/")[0] for name in testbed.curated} == set(TABLE_2)


def test_tools_that_write_are_told_from_tools_that_read(testbed: "beds.Testbed") -> None:
    writes = {tool_id(tool) for tool in testbed.tools if changes_something(tool)}
    assert "jira/delete_ticket" in writes
    assert "database/run_query" not in writes
    assert "web/fetch_page" not in writes
