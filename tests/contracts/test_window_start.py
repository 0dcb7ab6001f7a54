"""The window's start: what it loads and shows, and that it costs no more than was promised.

CPU time, which says the same beside other programs; figures: `python -m tests.bench performance`.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "pyqtgraph", "numpy", "onnxruntime", "mcp", "pydantic", "sentence_transformers"}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("window")
    _fill(folder / "toolcrib")
    return folder


@pytest.fixture(scope="module")
def told(home: Path) -> dict:
    """What a fresh process tells that opens the window on 2,000 tools."""
    return _measured(home)


def _measured(home: Path) -> dict:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.bench.window.opening", str(home)],
        cwd=ROOT,
        env={**os.environ, "TOOLCRIB_HOME": str(home / "toolcrib"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def _fill(home: Path) -> None:
    path = ROOT / "tests" / "fakes" / "demo_store.py"
    spec = importlib.util.spec_from_file_location("demo_store", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo_store"] = module
    spec.loader.exec_module(module)
    from store.connection import open_store

    home.mkdir(mode=0o700)
    db = open_store(home / "toolcrib.db")
    module.fill(db, module.big(40, 50))
    db.close()


def test_nothing_heavy_is_loaded(told: dict):
    assert not HEAVY & set(told["modules"])


def test_every_one_of_2000_tools_is_there(told: dict):
    assert told["rows"] == 2000
    assert len(told["keys"]) == 9


def test_the_start_costs_less_than_three_seconds_of_cpu(told: dict):
    assert told["filled"] < 3  # from the process's start to the filled tree; 0.4 where it was set


def test_a_key_in_the_filter_costs_less_than_a_tenth_of_a_second(told: dict, home: Path):
    # each of the keys, the better of two runs: a busy machine may lose time at any of them
    keys = map(min, told["keys"], _measured(home)["keys"])
    assert max(keys) < 100  # over 2,000 tools; 8 where it was set


def test_the_module_of_the_command_loads_no_qt():
    code = "import sys, ui.main; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
