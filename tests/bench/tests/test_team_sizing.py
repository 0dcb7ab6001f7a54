"""The sizing table is computed from measures, says so, and replaces only what is its own."""

from pathlib import Path

import pytest

from tests.bench import team
from tests.bench.team_sizing import projection, report, write

TIMES = {"p50": 10.0, "p95": 20.0}
TABLE = {
    "tools": 500,
    "plan": "HNSW",
    "recall_at_20": 0.995,
    "search_database_cpu_ms": 20.0,
    "search_replica_cpu_ms": 10.0,
    "search_ms": TIMES,
    "nearest_ms": TIMES,
    "nearest_database_cpu_ms": 5.0,
    "sqlite_vec": {"nearest_ms": TIMES, "nearest_cpu_ms": 8.0},
}
RESULT = {
    "tools": 1_000,
    "organisations": 50,
    "index_seconds": {"50 %": 1.0, "5 %": 0.0},
    "bytes": {"database": 5_000_000, "near": 1_000_000},
    "scopes": {"50 %": TABLE, "1 % of the 50 %": TABLE},
}


def test_a_projection_grows_with_tools_and_searches() -> None:
    made = projection(RESULT)
    assert made["searches_a_second"] == 18.75
    assert made["scopes"]["50 %"]["database_cores"] == pytest.approx(0.375)
    assert made["scopes"]["50 %"]["searches_per_replica_core"] == pytest.approx(100)
    # 4,000 bytes a tool, and 2,000 a vector that is indexed: members of a part count once
    assert made["disk_gb"] == pytest.approx(60) and made["index_gb"] == pytest.approx(20)
    assert made["index_build_hours"] == pytest.approx(10_000_000 / 500 / 3_600)


def test_a_table_replaces_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- sizing: begin -->\nold\n<!-- sizing: end -->\nafter\n")
    for _ in range(2):
        write({**RESULT, "projection": projection(RESULT)}, file)
    made = file.read_text()
    assert made.startswith("before\n<!-- sizing: begin -->\nMeasured with 1,000 tools")
    assert made.endswith("<!-- sizing: end -->\nafter\n") and "old" not in made
    assert made.count("**Projection** (computed, not measured)") == 1
    assert "| 50 % | 500 | HNSW | 0.9950 | 20 | 10 | 10.0 / 20.0 |" in made


def test_measures_are_rows_of_the_results(tmp_path: Path) -> None:
    scale = report(RESULT).as_json()
    assert scale["tables"][0]["rows"][0] == {
        "a caller sees": "50 %", "tools": 500, "plan": "HNSW", "recall@20 %": 99.5,
        "database CPU ms": 20.0, "replica CPU ms": 10.0, "search p95 ms": 20.0,
        "vectors p95 ms": 20.0, "vectors CPU ms": 5.0, "sqlite-vec p95 ms": 20.0,
        "sqlite-vec CPU ms": 8.0,
    }  # fmt: skip
    one = {
        "tools": 3, "queries": 4, "same": 75.0, "same_set": 100.0,
        "ndcg_local": 80.0, "ndcg_team": 80.2,
    }  # fmt: skip
    value = {"same": 75.0, "same_set": 100.0, "most_ndcg_change": 0.2, "sets": {"mine": one}}
    parity = team.report(value).as_json()
    assert list(parity["tables"][0]["rows"][0].values()) == ["mine", *one.values()]
    assert parity["notes"][0].startswith("Of all queries 75.00 % have the same first ten")
