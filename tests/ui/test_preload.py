"""Pages are imported off the GUI thread once the first one is filled."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import gc, json, sys, time
from PySide6.QtCore import Qt
from app.core.context import AppContext
from ui.application import make_application, make_window, preload_once_filled
from ui.windows.preload import PAGES

app = make_application(["toolcrib"])
window = make_window(app, AppContext.default())
preload_once_filled(window)
before = [name for name in PAGES if name in sys.modules]
window.show()
end = time.monotonic() + 60
while gc.get_freeze_count() == 0 and time.monotonic() < end:
    app.processEvents()
    time.sleep(0.005)
after = [name for name in PAGES if name in sys.modules]
full = []
gc.callbacks.append(lambda phase, info: full.append(info["generation"] == 2))
kept = [[number] for number in range(30 * 10_000)]  # as a step of the threshold makes
during = sum(full)
app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
unseen = sum(full) - during
window.close()
app.processEvents()
print(json.dumps([before, len(after) == len(PAGES), gc.get_freeze_count() > 0, during, unseen]))
"""


def test_every_page_is_imported_and_nothing_collected_in_full_until_the_window_is_left(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT,
        env={**os.environ, "TOOLCRIB_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == [[], True, True, 0, 2]


def test_a_closed_window_imports_no_further_page():
    code = """
import sys
from ui.shell.tasks import Job
from ui.windows.preload import PAGES, preload
job = Job(print)
job.cancel()
preload(job)
assert not set(PAGES) & set(sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=120)
    assert ended.returncode == 0
