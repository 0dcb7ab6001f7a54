"""Results of mcp-defense-bench as a report."""

import json
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from tests.bench.defense import run


def test_results_are_counted_by_kind(tmp_path: Path) -> None:
    stopped, passed = {"detect": True, "enforce": True}, {"detect": False, "enforce": False}
    dev, benign = tmp_path / "dev.json", tmp_path / "benign.json"
    cases = [
        {"id": "rug-pull/001", "mal": stopped, "benign": passed},
        {"id": "rug-pull/002", "mal": passed, "benign": stopped},
    ]
    dev.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    items = [
        {"kind": "tool-result", "verdict": passed},
        {"kind": "tool-definition", "verdict": stopped | {"signal": "hid get_x"}},
        {"kind": "tool-definition", "verdict": stopped | {"signal": "rewrote a tool definition"}},
    ]
    benign.write_text(json.dumps({"items": items}), encoding="utf-8")
    rows = {
        row["kind"]: list(row.values())[1:]
        for row in run([dev, benign]).as_json()["tables"][0]["rows"]
    }
    assert rows == {
        "rug-pull": [2, 1, 1, None],
        "every attack": [2, 1, 1, None],
        "benign: tool-definition": [2, 1, None, 1],
        "benign: tool-result": [1, 0, None, 0],
        "every benign item": [3, 1, None, 1],
    }


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(ToolcribError, match="no result of mcp-defense-bench"):
        run([file])
