"""Taking tools in costs the same for each, however many there are."""

from tests.bench.indexing import run


def test_a_tool_costs_no_more_in_a_catalogue_four_times_as_large() -> None:
    report = run(most=1_600, each=400)
    (table,) = report.tables
    first, last = float(str(table.rows[1][5])), float(str(table.rows[-1][5]))
    assert [row[0] for row in table.rows] == [400, 800, 1_200, 1_600]
    assert last < 1.8 * first  # quadratic would be 2 times the second row's at the fourth
