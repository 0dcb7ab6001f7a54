"""`toolcrib backend login`: shown, agreed to, started as the desktop would, gone again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gateway_store
import psutil
import pytest

ROOT = Path(__file__).parents[4]
Toolcrib = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = [
    pytest.mark.usefixtures("encoderless"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes a desktop entry"),
]


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The user's home folder, empty."""
    (tmp_path / "user").mkdir()
    return tmp_path / "user"


@pytest.fixture
def toolcrib(
    home: Path,
    user: Path,
    backends: Callable[[], list[psutil.Process]],
    monkeypatch: pytest.MonkeyPatch,
) -> Toolcrib:
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "1")
    gateway_store.stock(home, {})
    assert backends() == []

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "ui.main", "backend", "login", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def until(holds: Callable[[], object]) -> None:
    limit = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)


def test_it_is_shown_and_nothing_is_written_without_a_word(toolcrib: Toolcrib, user: Path) -> None:
    assert not json.loads(toolcrib("status", "--json").stdout)["on"]
    shown = toolcrib("on", code=4).stderr
    assert str(user / ".config/autostart/toolcrib-backend.desktop") in shown and "Exec=" in shown
    assert "--yes" in shown and list(user.rglob("*")) == []


def test_what_the_login_starts_stays_until_it_is_off(
    toolcrib: Toolcrib,
    user: Path,
    home: Path,
    backends: Callable[[], list[psutil.Process]],
) -> None:
    written = json.loads(toolcrib("on", "--yes", "--json").stdout)
    entry = Path(written["file"])
    assert written["on"] and json.loads(toolcrib("status", "--json").stdout)["on"]
    text = entry.read_text(encoding="utf-8")
    assert text in toolcrib("on", "--yes").stderr  # what is shown is what stands there
    # the path of an installed program; here the same code without one
    assert "toolcrib-gateway serve" in text and f"TOOLCRIB_HOME={home}" in text
    serve = [sys.executable, "-m", "app.gateway.main", "serve"]
    started = subprocess.Popen(serve, cwd=user, env=dict(os.environ))
    try:
        until(backends)
        (process,) = backends()
        began = process.create_time()
        until(lambda: time.time() > began + 4)  # longer than an idle one lives
        assert started.poll() is None
        toolcrib("off")
        assert list(user.rglob("*")) == []
        assert started.wait(30) == 0
    finally:
        started.kill()
        started.wait()
