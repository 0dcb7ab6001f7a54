"""The gateway judge's raw files as tables."""

import json
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from tests.bench import judged


def run_of(ratio: float) -> dict[str, object]:
    """What calls.py leaves of one gateway."""
    times = {"direct_p50": 0.1, "p50": 0.1 * ratio, "added_p50": 0.1 * ratio - 0.1}
    return {**times, "ratio_med": ratio, "conc": [50, 5, 0], "gw_cpu_ms": 0.1, "ratios": [ratio]}


def test_several_runs_of_the_latency_are_one_row_of_medians(tmp_path: Path) -> None:
    for number, ratio in enumerate((2.0, 9.0, 3.0), 1):
        runs = {"ours": run_of(ratio), "peer": {"error": "did not start"}}
        (tmp_path / f"calls.{number}.json").write_text(json.dumps(runs))
    [table] = judged.run(tmp_path).as_json()["tables"]
    [row] = table["rows"]
    assert {"ours", 3, 5} <= set(row.values()) and row["ratio"] == 3.0


def test_a_folder_without_raw_figures_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolcribError, match="There is no folder"):
        judged.run(tmp_path / "none")
    (tmp_path / "calls.json").write_text("{")
    with pytest.raises(ToolcribError, match="is no JSON"):
        judged.run(tmp_path)
