"""`toolcrib backend`: what it shows and does, with and without a running backend."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402
import web_client  # noqa: E402

from tests.fakes.verbs import Verbs  # noqa: E402


@pytest.fixture
def home(tmp_path: Path) -> Path:
    probe = {"command": sys.executable, "args": [str(ROOT / "tests/fakes/probe_upstream.py")]}
    gateway_store.stock(tmp_path / "home", {"probe": probe})
    return tmp_path / "home"


@pytest.fixture
def environ(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    more = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), "TOOLCRIB_BACKEND_IDLE": "60"}
    return {**os.environ, **more, "TOOLCRIB_MODELS": str(tmp_path / "no-models")}


@pytest.fixture
def toolcrib(environ: dict[str, str], verbs: Verbs):
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return verbs.run_text(*words, env=environ)

    yield run
    run("backend", "stop")


def test_without_a_backend_status_and_stop_say_so(toolcrib):
    assert "No backend runs" in toolcrib("backend", "status").stdout
    assert json.loads(toolcrib("backend", "stop", "--json").stdout) == {"stopped": False}


def test_status_names_hosts_and_stop_lets_them_go_on(toolcrib, environ):
    command = raw_host.gateway_command("--profile", "default", "--server", "probe")
    host = raw_host.RawHost(command, environ)
    try:
        host.initialize()
        host.call("echo", {"text": "a"})
        first = json.loads(toolcrib("backend", "status", "--json").stdout)
        (session,) = first["sessions"]
        assert session["host"] == "raw-host" and session["profile"] == "default"
        assert session["servers"][0]["pids"] and first["megabytes"] > 0
        assert "raw-host" in toolcrib("backend", "status").stdout
        assert json.loads(toolcrib("backend", "stop", "--json").stdout) == {"stopped": True}
        again = host.call("echo", {"text": "b"})
        assert again["content"][0]["text"] == "b"
    finally:
        host.close()


def test_the_first_start_of_an_install_that_is_not_compiled_finds_its_backend(environ, tmp_path):
    """`uv tool install` compiles nothing: the first run does, and stays the same build."""
    fresh = tmp_path / "fresh"
    for package in ("app", "store"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, fresh / package, ignore=ignored)
    (fresh / "resources").symlink_to(ROOT / "resources")
    line = (sys.executable, "-P", "-c", "from ui.main import main; exit(main())", "backend")
    outer = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    outer["PYTHONPATH"] = str(fresh)

    def printed(*words: str) -> str:
        done = subprocess.run([*line, *words], env=outer, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        assert "http://127.0.0.1:" in printed("http", "on", "--port", str(web_client.free_port()))
        assert "of another build" not in printed("status")
    finally:
        printed("stop")


def test_a_backend_from_before_an_update_is_shown_and_stopped(toolcrib, environ, tmp_path):
    """Another build is the same code in another folder: the session goes on after the stop."""
    earlier = tmp_path / "earlier"
    for package in ("app", "store"):
        shutil.copytree(ROOT / package, earlier / package)
    (earlier / "resources").symlink_to(ROOT / "resources")
    gateway = "from app.gateway.main import main; main()"
    words = ("--profile", "default", "--server", "probe")
    outer = {**environ, "PYTHONPATH": str(earlier)}
    host = raw_host.RawHost([sys.executable, "-P", "-c", gateway, *words], outer)
    try:
        host.initialize()
        host.call("echo", {"text": "a"})
        shown = toolcrib("backend", "status").stdout
        assert shown.startswith("No backend runs.")
        assert (
            "of another build serves raw-host. Start that anew to have the new build, or" in shown
        )
        (one,) = json.loads(toolcrib("backend", "status", "--json").stdout)["earlier"]
        assert [session["host"] for session in one["sessions"]] == ["raw-host"]
        process = psutil.Process(one["pid"])
        assert json.loads(toolcrib("backend", "stop", "--json").stdout) == {"stopped": True}
        process.wait(20)
        assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    finally:
        host.close()


def test_one_server_is_stopped_and_its_next_call_starts_it(toolcrib, environ):
    refused = toolcrib("backend", "stop", "probe")
    assert refused.returncode == 1 and "No running server is called probe" in refused.stderr
    command = raw_host.gateway_command("--profile", "default", "--server", "probe")
    host = raw_host.RawHost(command, environ)
    try:
        host.initialize()
        old = host.call("pid")["content"][0]["text"]
        (session,) = json.loads(toolcrib("backend", "status", "--json").stdout)["sessions"]
        assert session["servers"][0]["calls"] == 1
        assert json.loads(toolcrib("backend", "stop", "probe", "--json").stdout) == {"stopped": 1}
        assert host.call("pid")["content"][0]["text"] != old
    finally:
        host.close()


def test_restart_ends_the_backend_and_has_the_next_one_answer(toolcrib):
    assert toolcrib("backend", "restart").returncode == 0
    first = json.loads(toolcrib("backend", "status", "--json").stdout)["pid"]
    assert json.loads(toolcrib("backend", "restart", "--json").stdout) == {"restarted": True}
    assert json.loads(toolcrib("backend", "status", "--json").stdout)["pid"] != first
    toolcrib("backend", "off")
    refused = toolcrib("backend", "restart")
    assert refused.returncode == 1 and "toolcrib backend on" in refused.stderr


def test_off_gives_each_host_its_own_gateway_until_on(toolcrib, environ):
    assert toolcrib("backend", "off").returncode == 0
    command = raw_host.gateway_command("--profile", "default", "--server", "probe")
    host = raw_host.RawHost(command, environ)
    try:
        host.initialize()
        assert "No backend runs" in toolcrib("backend", "status").stdout
    finally:
        host.close()
    assert json.loads(toolcrib("backend", "on", "--json").stdout) == {"on": True}


def test_share_shows_why_and_takes_the_users_word(toolcrib):
    (row,) = json.loads(toolcrib("backend", "share", "--json").stdout)
    assert row["sharing"] == "session" and not row["by_user"] and row["reason"]
    (row,) = json.loads(toolcrib("backend", "share", "probe", "shared", "--json").stdout)
    assert row == {**row, "sharing": "shared", "by_user": True}
    (row,) = json.loads(toolcrib("backend", "share", "probe", "auto", "--json").stdout)
    assert row["sharing"] == "session" and not row["by_user"]
    refused = toolcrib("backend", "share", "nobody", "shared")
    assert refused.returncode == 1 and "No server is called nobody" in refused.stderr
