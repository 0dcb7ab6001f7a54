"""What only a display with a window manager shows: frames, focus and popups as users have them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = "tests/ui/window_places.py"
MISSING = [name for name in ("Xvfb", "openbox") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


@contextmanager
def display() -> Iterator[str]:
    """The name of a display of one's own with a window manager on it."""
    read, write = os.pipe()
    screen = ("-screen", "0", "1920x1200x24", "-nolisten", "tcp")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), *screen], pass_fds=(write,), stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with os.fdopen(read) as answer:
            name = f":{answer.readline().strip()}"  # written once it takes clients
        env = {**os.environ, "DISPLAY": name}
        manager = subprocess.Popen(["openbox"], env=env, stderr=subprocess.DEVNULL)
        try:
            yield name
        finally:
            manager.terminate()
            manager.wait(10)
    finally:
        server.terminate()
        server.wait(10)


@pytest.mark.parametrize("tests", ["tests/ui/test_combo_popups.py", PLACES])
def test_it_also_holds_under_a_window_manager(tests):
    with display() as name:
        env = {**os.environ, "DISPLAY": name, "QT_QPA_PLATFORM": "xcb"}
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-1000:]
