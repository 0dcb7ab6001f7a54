"""The window's start: what it loads, what it costs, what it leaves alone."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "pyqtgraph", "numpy", "onnxruntime", "mcp", "pydantic", "sentence_transformers")

# opens the window as ui.application does, waits for the tree, and tells CPU times and modules
_OPEN = """
import json, sys, time
from PySide6.QtCore import QEventLoop
from app.context import AppContext
from app.hosts.places import Places
from pathlib import Path
from ui.application import make_application, make_window

app = make_application(["toolcrib"])
home = Path(sys.argv[1])
window = make_window(app, AppContext.default(), Places(home, {}, "linux", root=home))
window.show()
loop = QEventLoop()
window.live.loaded.connect(loop.quit)
loop.exec()
app.processEvents()
filled = time.process_time()
content = window.pages["catalog"].content
keys = []
for line in ("t", "to", "too", "tool", "tool_1", "server:server-1", "tokens:>1k", "-tool_2", ""):
    content.filter.edit.blockSignals(True)
    content.filter.edit.setText(line)
    content.filter.edit.blockSignals(False)
    start = time.process_time()
    content.filter.apply()
    app.processEvents()
    keys.append((time.process_time() - start) * 1000)
print(json.dumps({
    "filled": filled,
    "keys": keys,
    "rows": len(window.live.catalog.tools),
    "top": content.model.rowCount(),
    "loaded": sorted(m for m in sys.argv[2].split(",") if m in sys.modules),
}))
window.close()
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict:
    """What a fresh process tells that opens the window on 2,000 tools; the best of three runs."""
    home = tmp_path_factory.mktemp("window")
    _fill(home / "toolcrib")
    return min((_open(home) for _ in range(3)), key=lambda said: said["filled"])


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


def _open(home: Path) -> dict:
    environ = {**os.environ, "TOOLCRIB_HOME": str(home / "toolcrib"), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", _OPEN, str(home), ",".join(HEAVY)],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def test_nothing_heavy_is_loaded(told: dict):
    assert told["loaded"] == []


def test_the_tree_of_2000_tools_is_filled_within_one_and_a_half_seconds_of_cpu(told: dict):
    assert told["rows"] == 2000 and told["top"] == 40
    assert told["filled"] <= 1.5


def test_a_filter_key_costs_at_most_twenty_milliseconds(told: dict):
    typical = sorted(told["keys"])[len(told["keys"]) // 2]
    assert typical <= 20, told["keys"]


def test_the_module_of_the_command_loads_no_qt():
    code = "import sys, ui.main; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
