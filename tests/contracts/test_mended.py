"""The table of what was mended names tests that exist, one row a line; the attacks all run."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([ABS]\d+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`")
ROWS = ROW.findall((ROOT / "tests/contracts/mended.md").read_text(encoding="utf-8"))
LINES = [
    f"{part}{number}"
    for part, last in (("A", 20), ("B", 13), ("S", 4))
    for number in range(1, last + 1)
]
ALLOWED = {"test_swapped_files.py": 1}  # every combination, where make test tries each pair


def test_every_line_has_one_row() -> None:
    assert [line for line, _ in ROWS] == LINES


@pytest.mark.parametrize(("line", "held_by"), ROWS)
def test_a_row_names_tests_that_exist(line: str, held_by: str) -> None:
    named = NAMED.findall(held_by)
    assert named, line
    for path, test in named:
        file = ROOT / path
        assert file.is_file(), path
        assert f"def {test}(" in file.read_text(encoding="utf-8") or not test, test


def test_every_attack_runs_before_anything_lands() -> None:
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()[-1] == "exec make test"
    make = subprocess.run(
        ["make", "-n", "-C", ROOT, "test"], capture_output=True, text=True, check=True
    ).stdout
    (command,) = [line for line in make.splitlines() if "-m pytest -n" in line]
    words = command.partition("-m pytest ")[2]
    options = '-n 4 --dist loadfile --no-loadscope-reorder -m "not exhaustive"'
    assert words == options, "no folder is left out"
    marked = {
        file.name: count
        for file in (ROOT / "tests/attacks").glob("*.py")
        if (count := file.read_text(encoding="utf-8").count("mark.exhaustive"))
    }
    assert marked == ALLOWED
