"""One of Toolcrib's own files is a pipe, a device, a folder, a link to itself or garbage.

Whoever put it there: every verb and the gateway go on without it or say so, and none waits for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "fakes" / "changing_server.py"
VERBS = (
    ["footprint"],
    ["review", "--json"],
    ["profile", "off", "stub/get"],
    ["scan", "--yes"],
    ["export", "cursor", "--mode", "through"],
)
RUNNER = """
import contextlib, io, json, sys
from app.cli.main import run
answers = []
for verb in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(verb)
        except BaseException as error:
            code = repr(error)
    answers.append([verb, code, err.getvalue()])
print(json.dumps(answers))
"""
OWN = (
    "toolcrib.db",
    "toolcrib.db-wal",
    "settings.toml",
    "install.key",
    "secrets.json",
    "secrets.lock",
    "export.lock",
    "logs",
    "backups",
    "run",
)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 20)


KINDS = (a_pipe, a_device, a_folder, a_loop, garbage)


@pytest.fixture(scope="module")
def origin(tmp_path_factory) -> Path:
    """A home after a scan, of which each case takes a copy."""
    folder = tmp_path_factory.mktemp("origin") / "machine"
    file = folder / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    tools = [{"name": n, "description": "Get it.", "inputSchema": {"type": "object"}} for n in "ab"]
    listed = folder.parent / "tools.json"
    listed.write_text(json.dumps(tools), encoding="utf-8")
    names = {"CHANGING_TOOLS": str(listed), "CHANGING_LOG": str(listed) + ".log"}
    env = {**names, "API_KEY": "k7Qw-9zPx-33ab"}
    stub = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    file.write_text(json.dumps({"mcpServers": {"stub": stub}}), encoding="utf-8")
    ((_, code, text),) = runs(folder, ["scan", "--yes"])
    assert code == 0, text
    return folder


def environment(folder: Path) -> dict[str, str]:
    home = {"HOME": str(folder), "TOOLCRIB_HOME": str(folder / "toolcrib")}
    return {**os.environ, **home, "PYTHONPATH": str(ROOT)}


def runs(folder: Path, *verbs: list[str]) -> list:
    """[verb, exit code, stderr] of each, run one after the other in one process."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps(verbs)],
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def machine(origin, tmp_path):
    """machine(name, kind) puts that in the place of one of Toolcrib's own files."""
    folder = tmp_path / "machine"
    shutil.copytree(origin, folder, symlinks=True)

    def swap(name: str, kind) -> Path:
        path = folder / "toolcrib" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        kind(path)
        return folder

    return swap


@pytest.mark.skipif(os.name == "nt", reason="no pipes with names")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OWN)
def test_no_verb_waits_for_it_or_ends_in_a_traceback(machine, name, kind):
    for verb, code, text in runs(machine(name, kind), *VERBS):
        assert code in (0, 1), (verb, code, text)
        assert "Traceback" not in text
        if code:
            text = re.sub(r"^(note: .*\n)+", "", text)  # what the preview of a write says
            assert text.startswith("toolcrib: ") and text.count("\n") <= 3, text
            assert "A file cannot be used" not in text, "it names no file"


@pytest.mark.skipif(os.name == "nt", reason="no pipes with names")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["toolcrib.db", "settings.toml", "secrets.json", "run"])
def test_a_gateway_answers_all_the_same(machine, raw_host, name, kind):
    host = raw_host.RawHost(
        raw_host.gateway_command("--profile", "default"), environment(machine(name, kind))
    )
    try:
        host.initialize()
        assert [tool["name"] for tool in host.tools()]
        named = {"name": "stub/a", "arguments": {}}
        answer = host.wait(host.ask("tools/call", {"name": "call_tool", "arguments": named}), 60)
        assert "result" in answer or "error" in answer
    finally:
        host.close()
