"""The table of the 25 checks names tests that exist, and leaves out none."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`")
ROWS = ROW.findall((ROOT / "tests/ui/checks.md").read_text(encoding="utf-8"))


def test_every_check_has_one_row():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 26))


def test_every_row_names_tests_that_exist():
    for number, held_by, _verdict in ROWS:
        named = NAMED.findall(held_by)
        assert named, number
        for path, test in named:
            file = ROOT / path
            assert file.is_file(), f"check {number}: {path}"
            if test:
                assert f"def {test}(" in file.read_text(encoding="utf-8"), f"check {number}: {test}"


def test_no_verdict_is_partly_without_its_reason():
    for number, _held_by, verdict in ROWS:
        word, _, reason = verdict.partition(": ")
        assert word in ("held", "partly"), number
        assert word == "held" or len(reason) > 20, number
