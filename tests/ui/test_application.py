"""The `toolcrib` command as a process: it opens, and ends cleanly when told to."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def started(tmp_path, places):
    """The window as a process of its own, with an empty home."""
    environ = {
        **os.environ,
        "TOOLCRIB_HOME": str(tmp_path / "toolcrib"),
        "HOME": str(places.home),
        "QT_QPA_PLATFORM": "offscreen",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "ui.main"], cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True
    )
    yield process, tmp_path / "toolcrib"
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_and_its_threads(started, number):
    process, home = started
    deadline = time.monotonic() + 60
    while not (home / "toolcrib.db").exists() and time.monotonic() < deadline:
        psutil.wait_procs([psutil.Process(process.pid)], timeout=0.1)
    assert (home / "toolcrib.db").exists()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert (home / "window.ini").exists()


_EARLY = """
import os, signal, sys
import ui.application as application

def configure(folder):
    os.kill(os.getpid(), signal.SIGINT)

application.configure = configure
sys.exit(application.run_window())
"""


def test_a_signal_before_the_window_is_there_ends_it_too(tmp_path, places):
    environ = {
        **os.environ,
        "TOOLCRIB_HOME": str(tmp_path / "toolcrib"),
        "HOME": str(places.home),
        "QT_QPA_PLATFORM": "offscreen",
    }
    command = [sys.executable, "-c", _EARLY]
    ended = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


def test_unreadable_settings_are_said_and_end_it(started, tmp_path):
    process, home = started
    process.kill()
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text("appearance = 7\n", encoding="utf-8")
    environ = {**os.environ, "TOOLCRIB_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"}
    ended = subprocess.run(
        [sys.executable, "-m", "ui.main"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "appearance" in ended.stderr and "Traceback" not in ended.stderr
