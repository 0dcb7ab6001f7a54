"""tests/bench/RESULTS.md is put together from what was run; what was not run again stays."""

import json
from pathlib import Path

from tests.bench.document import document


def test_only_the_sections_that_were_run_again_are_replaced(tmp_path: Path) -> None:
    def run(name: str, figure: int) -> None:
        table = {"title": "T", "rows": [{"what": "a", "n": figure}], "kinds": {"n": "measured"}}
        value = {"experiment": name, "tables": [table], "notes": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")

    run("one", 1)
    run("two", 2)
    first = document(tmp_path, 0.0)
    assert first == document(tmp_path, 0.0, first)
    (tmp_path / "two.json").unlink()
    run("one", 7)
    run("new", 3)
    head, one, two, new = document(tmp_path, 1e9, first).split("\n\n## ")
    assert head == first.partition("\n\n## ")[0]
    assert (one[:3], two[:3], new[:3]) == ("one", "two", "new")
    assert "| a | 7 |" in one and "| a | 2 |" in two and "| a | 3 |" in new
