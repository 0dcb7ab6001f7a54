"""Ctrl+C at the worst moment of each program: one line or none, and the shell's exit code.

The signal comes while a module is imported: native ones crash the process when their imports fail.
"""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from app.policy.lock import Lock, LockedServer, LockedTool, write_lock
from tests.fakes.process_waits import until

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "fakes" / "fake_server.py"
INTERRUPTED = """
import importlib, signal, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)

sys.path.insert(0, {root!r})
sys.meta_path.insert(0, Interrupt())
sys.exit(importlib.import_module({program!r}).main({words!r}))
"""
pytestmark = pytest.mark.processes


@pytest.fixture
def interrupted(tmp_path: Path):
    """interrupted(program, words, module): the program, stopped while it imports that module."""

    def run(program: str, words: list[str], module: str):
        code = INTERRUPTED.format(root=str(ROOT), program=program, words=words)
        own = {"HOME": str(tmp_path), "TOOLCRIB_HOME": str(tmp_path / "toolcrib")}
        return subprocess.run(
            [sys.executable, "-c", code, module],
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["hosts"], "argparse"),
        (["hosts"], "app.cli.main"),
        (["hosts"], "app.cli.export"),
        (["hosts"], "decimal"),  # by a native module, once there is a store
        (["find", "x"], "uuid"),  # by another
    ],
)
def test_toolcrib_says_one_line(interrupted, words, module):
    if module == "decimal":
        assert interrupted("ui.main", ["labels", "list"], "-").returncode == 0
    done = interrupted("ui.main", words, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "toolcrib: stopped.\n")


@pytest.mark.parametrize("module", ["argparse", "app.team_server.verbs", "psycopg", "decimal"])
def test_toolcrib_team_says_one_line(interrupted, module):
    pytest.importorskip("psycopg")
    done = interrupted("app.team_server.program", ["token", "new-key"], module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "toolcrib-team: stopped.\n")


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["--profile", "default"], "app.gateway.standalone"),
        (["serve"], "app.gateway.backend.server"),
        (["hook", "claude-code"], "app.gateway.hook"),
    ],
)
def test_the_gateway_says_nothing(interrupted, words, module):
    done = interrupted("app.gateway.main", words, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="there each host is served alone")
def test_an_adapter_of_a_backend_says_nothing(tmp_path, monkeypatch):
    from app.gateway.backend.client import request
    from app.gateway.backend.rendezvous import STOP, Place

    home = tmp_path / "toolcrib"
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "terminal", "version": "1"},
    }
    line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    command = [sys.executable, "-m", "app.gateway.main", "--profile", "default"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, **pipes) as adapter:
        adapter.stdin.write(json.dumps(line).encode() + b"\n")
        adapter.stdin.flush()
        assert b"serverInfo" in adapter.stdout.readline()
        adapter.send_signal(signal.SIGINT)
        assert adapter.wait(30) == -signal.SIGINT  # by the system: 130 to a shell
        assert adapter.stderr.read() == b""
    assert request(Place(str(home)), STOP, seconds=30) is not None


@pytest.mark.skipif(os.name == "nt", reason="there Ctrl+C goes to a whole console")
def test_a_projects_servers_are_stopped_at_once(tmp_path):
    """Two are read at a time and never answer; the third is not started any more."""
    log = tmp_path / "log"
    env = {"FAKE_MODE": "hang-list", "FAKE_LOG": str(log)}
    server = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": dict.fromkeys("abc", server)}))
    words = [sys.executable, "-m", "ui.main", "lock", "--yes", "--project", str(tmp_path)]
    lock = subprocess.Popen(
        words,
        env={**os.environ, "HOME": str(tmp_path), "TOOLCRIB_HOME": str(tmp_path / "own")},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        until(lambda: log.is_file() and log.read_text().count("tools/list") == 2)
        lock.send_signal(signal.SIGINT)
        out, error = lock.communicate(timeout=30)
    finally:
        lock.kill()
    assert (lock.returncode, out) == (130, "") and error.endswith("toolcrib: stopped.\n")
    assert log.read_text().count("tools/list") == 2
    assert not (tmp_path / "toolcrib.lock").exists()


@pytest.mark.skipif(os.name == "nt", reason="a pipe without a reader is another error there")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ["ui.main", "hosts", "--all"]),
        (0, ["ui.main", "profile", "show", "--json"]),
        (4, ["ui.main", "check", "--project", "."]),
        (4, ["ui.main", "check", "--project", ".", "--json"]),
        (0, ["app.gateway.main", "--help"]),
        (0, ["app.gateway.main", "--version"]),
        (0, ["app.team_server.program", "token", "new-key"]),
        (1, ["app.team_server.program", "check"]),
    ],
    ids=str,
)
def test_a_program_without_a_reader_says_nothing_and_keeps_its_verdict(tmp_path, code, words):
    if "team" in words[0]:
        pytest.importorskip("psycopg")
    tool = LockedTool("read_file", "0" * 64, 200)
    server = LockedServer("files", "files", (tool,))
    write_lock(Lock("o200k_base", (server,)), tmp_path / "toolcrib.lock")
    policy = "version = 1\n[budget]\nmax_schema_tokens = 100\n"
    (tmp_path / ".toolcrib.toml").write_text(policy)
    own = {"HOME": str(tmp_path), "TOOLCRIB_HOME": str(tmp_path / "own")}
    team = {
        "PYTHONPATH": str(ROOT),
        "TOOLCRIB_TEAM_DATABASE": "postgresql://127.0.0.1:1/x",
        "TOOLCRIB_TEAM_URL": "https://tools.example.org",
    }
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            env={**os.environ, **own, **team},
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (code, b"")
