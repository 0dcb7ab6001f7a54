"""A labelled set inside a registry of other tools."""

import json
import shutil
from pathlib import Path

import pytest

from app.bench import registry
from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder


@pytest.fixture
def data(set_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(set_folder, tmp_path / "retrieval" / "api-bank")
    straw = [
        {"server": f"hay{n % 4}", "name": f"s{n}", "description": f"Straw {n}"} for n in range(9)
    ]
    same = [{"server": "bank", "name": "transfer", "description": "Another text"}, straw[0]]
    file = tmp_path / registry.FILE
    file.parent.mkdir()
    file.write_text("".join(json.dumps(row) + "\n" for row in [*straw, *same]), encoding="utf-8")
    return tmp_path


def test_a_set_is_judged_alone_and_among_the_registrys_tools(data: Path, encoder: Encoder) -> None:
    report = registry.run(data, encoder, sets=["api-bank"]).as_json()
    rows = report["tables"][0]["rows"]
    # a tool that both have counts once, and one that stands there twice
    assert {row["tools"] for row in rows} == {12, 21}
    assert {row["method"] for row in rows} == {"paper", "ours"}  # too few labels to learn from
    assert {row["queries"] for row in rows if row["half"] == "both"} == {5}
    assert all(row["queries"] < 5 for row in rows if row["half"] == "report")
    assert all(row["cpu_ms"] > 0 and row["r5"] > 0 for row in rows if row["half"] == "both")


def test_a_registry_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    with pytest.raises(ToolcribError, match="cannot be read as a registry"):
        registry.read_registry(file)
    file.write_text('{"name": "lonely"}\n', encoding="utf-8")
    with pytest.raises(ToolcribError, match="cannot be read as a registry"):
        registry.read_registry(file)
