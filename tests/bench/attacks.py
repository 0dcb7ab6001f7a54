"""Runs tests/attacks and prints, as an experiment's JSON, what was tried and held by attacker.

Usage: python -m tests.bench.attacks [JUNIT_FILE ...]   (results of runs already made, of
a case the last one counts; without any a run is made now)
"""

import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "attacks"
KINDS = {"tried": "measured", "held": "measured", "fell": "measured", "not run here": "measured"}


def main() -> int:
    """Print the report; 1 when an attack came through."""
    if len(sys.argv) > 1:
        cases = read(*map(Path, sys.argv[1:]))
    else:
        with tempfile.TemporaryDirectory(prefix="toolcrib-attacks-") as folder:
            file = Path(folder) / "attacks.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
            command += [f"--junitxml={file}", str(TESTS)]
            subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
            cases = read(file)
    print(json.dumps(report(cases), indent=2))
    return 1 if any(counts["fell"] for counts in cases.values()) else 0


def read(*files: Path) -> dict[str, Counter[str]]:
    """How many cases of each module held, fell and did not run."""
    results: dict[tuple[str, str], str] = {}
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            module = case.get("classname", "").rpartition(".")[2].removeprefix("test_")
            kinds = {part.tag for part in case}
            fell = kinds & {"failure", "error"}
            result = "fell" if fell else "skipped" if "skipped" in kinds else "held"
            results[module, case.get("name", "")] = result
    cases: dict[str, Counter[str]] = {}
    for (module, _name), result in results.items():
        cases.setdefault(module, Counter())[result] += 1
    return cases


def report(cases: dict[str, Counter[str]]) -> dict[str, object]:
    """The report in the form of tests.bench.report."""
    rows = []
    for module in sorted(cases):
        counts = cases[module]
        rows.append(row(attacker(module), f"`tests/attacks/test_{module}.py`", counts))
    every: Counter[str] = sum(cases.values(), Counter())
    rows.append(row("**all**", "", every))
    table = {"title": "What attackers tried, and what held", "rows": rows, "kinds": KINDS}
    notes = [
        "Made by `python -m tests.bench.attacks`: real processes and files, a module per attacker."
        " A case that tries generated neighbours or every system call counts once.",
    ]
    return {"experiment": "attacks", "tables": [table], "notes": notes}


def row(who: str, module: str, counts: Counter[str]) -> dict[str, object]:
    """One line of the table."""
    tried = counts["held"] + counts["fell"]
    return {
        "attacker": who,
        "module": module,
        "tried": tried,
        "held": counts["held"],
        "fell": counts["fell"],
        "not run here": counts["skipped"],
    }


def attacker(module: str) -> str:
    """The first sentence of the module's docstring."""
    file = TESTS / f"test_{module}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or module
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
