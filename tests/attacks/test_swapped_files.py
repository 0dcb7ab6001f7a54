"""One of Toolcrib's own files is a pipe, a device, a folder, a link to itself or garbage.

Whoever put it there: every verb and the gateway go on without it or say so, and none waits for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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
# One process imports all of it and makes a child for each case: its line in, the answers out.
RUNNER = """
import contextlib, io, json, os, signal, sys
from app.cli import export, footprint, profile, review, scan
from app.cli.main import run

def answers(verbs):
    for verb in verbs:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = run(verb)
            except BaseException as error:
                code = repr(error)
        yield verb, code, err.getvalue()

for line in sys.stdin:
    case = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        signal.alarm(case["seconds"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(case["env"])
        print(json.dumps(list(answers(case["verbs"]))), flush=True)
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        print(json.dumps(f"the verbs ended with {status}"), flush=True)
"""
SECONDS = 120
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
def runs() -> Iterator[Callable[..., list]]:
    """runs(folder, verb, ...): [verb, exit code, stderr] of each, one after the other."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(folder: Path, *verbs: list[str]) -> list:
        case = {"env": environment(folder), "verbs": verbs, "seconds": SECONDS}
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        answers = json.loads(process.stdout.readline())
        assert isinstance(answers, list), answers
        return answers

    yield run
    process.stdin.close()
    process.stdout.close()
    assert process.wait(30) == 0


@pytest.fixture(scope="module")
def origin(tmp_path_factory, runs) -> Path:
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


CASES = [(name, kind) for name in OWN for kind in KINDS]


def two_verbs(name: str, kind) -> tuple[list[str], list[str]]:
    """Two of the verbs, so that each verb meets each file twice and each kind four times."""
    file, number = OWN.index(name), KINDS.index(kind)
    return VERBS[(file + number) % 5], VERBS[(file + 2 * number + 1) % 5]


def test_two_verbs_a_case_are_every_pair() -> None:
    drawn = [(name, kind, verb[0]) for name, kind in CASES for verb in two_verbs(name, kind)]
    assert len({(name, verb) for name, _, verb in drawn}) == len(OWN) * len(VERBS)
    assert len({(kind, verb) for _, kind, verb in drawn}) == len(KINDS) * len(VERBS)


@pytest.mark.skipif(os.name == "nt", reason="no pipes with names")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_verb_waits_for_it_or_ends_in_a_traceback(machine, runs, name, kind):
    refused_or_done(runs(machine(name, kind), *two_verbs(name, kind)))


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name == "nt", reason="no pipes with names")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_all_verbs_after_each_other_do_not_either(machine, runs, name, kind):
    refused_or_done(runs(machine(name, kind), *VERBS))


def refused_or_done(answers: list) -> None:
    for verb, code, text in answers:
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
