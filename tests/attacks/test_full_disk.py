"""A disk without room: what only reads goes on, what writes ends with one sentence."""

import json
import os
import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.gateway.journal_tail import FOLDER
from store.connection import open_store
from store.errors import StoreError

ROOT = Path(__file__).parents[2]
READING = (
    ["footprint"],
    ["check", "--suggest"],
    ["hosts"],
    ["profile", "list"],
    ["profile", "show"],
    ["review"],
    ["route", "list things", "--words-only"],
    ["export", "cursor", "--mode", "pruned", "--dry-run"],
    ["labels", "list"],
)
WRITING = (
    ["export", "cursor", "--mode", "pruned"],
    ["profile", "set", "budget.tokens=1000"],
    ["profile", "off", "stub/alpha_get"],
    ["trust", "stub"],
    ["add", "other", "--", "echo"],
    ["labels", "add", "list things", "stub/alpha_get"],
)
VERBS = """
import contextlib, io, json, resource, sys
sys.path.insert(0, {root!r})
from app.cli.main import run
from app.cli.parser import make_parser
from app.export import plan
import tomlkit
if {limited}:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
answers = []
for verb in {verbs!r}:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(verb)
        except BaseException as error:
            code = repr(error)
    answers.append([verb, code, err.getvalue()])
print(json.dumps(answers))
"""


@pytest.fixture(params=["full disk", "no byte more"])
def full(request, world, monkeypatch):
    """A home whose files cannot grow: on a small disk of its own (root only), or by a limit.

    Toolcrib has written to two hosts, and a killed session left a call.
    """
    world.write(".lmstudio/mcp.json", {"mcpServers": {"stub": {"command": sys.executable}}})
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": {"command": sys.executable}}})
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(world.ctx.paths.home))
    if request.param == "no byte more":
        fill(world)
        world.db.close()
        yield True
        return
    world.db.close()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(world.ctx.paths.home)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root makes a small disk")
    try:
        with closing(world.ctx.open_store()) as world.db:
            fill(world)
        with (world.ctx.paths.home / "fill").open("wb", buffering=0) as file:
            while file.write(b"\0" * 4096) == 4096:
                pass
    except OSError:
        yield False
    finally:
        subprocess.run(["umount", str(world.ctx.paths.home)], check=True)


def fill(world):
    world.learn()
    world.narrow()
    for host in ("cursor", "lm-studio"):
        world.export(host, "pruned")
    tails = world.ctx.paths.home / FOLDER
    tails.mkdir()
    call = {"at": 1.0, "kind": "call", "profile": "default", "tool": "stub/alpha_get"}
    (tails / "left").write_text(json.dumps(call) + "\n", encoding="utf-8")


def answers(verbs, *, limited):
    code = VERBS.format(root=str(ROOT), verbs=[list(verb) for verb in verbs], limited=limited)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def test_every_verb_goes_on_or_ends_with_one_sentence(full):
    for verb, code, text in answers([*READING, *WRITING], limited=full):
        assert "Traceback" not in text
        assert code == (0 if verb in map(list, READING) else 1), (verb, code, text)
        if code:
            assert text.startswith("toolcrib: ") and text.count("\n") <= 2, text
            assert any(part in text for part in ("disk is full", "cannot be", "not written")), text


def test_restoring_all_names_every_host_that_it_could_not_restore(full, world):
    files = [world.home / ".cursor" / "mcp.json", world.home / ".lmstudio" / "mcp.json"]
    before = [file.read_bytes() for file in files]
    (_verb, code, text) = answers([["restore", "all"]], limited=full)[0]
    assert code == 1 and [file.read_bytes() for file in files] == before
    for file in files:
        assert (
            f"Not restored: {file}" in text
            and text.count("Check the permissions") + text.count("Free some space") == 2
        )


def test_a_report_of_doctor_proposes_no_repair_of_a_store_that_is_whole(full):
    def limit():
        if full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "ui.main", "doctor"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, preexec_fn=limit)
    assert "store" in ended.stdout and "--repair" not in ended.stdout, ended.stdout


def test_a_new_gateway_serves_from_the_stored_catalogue(full, world):
    def limit():
        if full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    messages = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search_tools", "arguments": {}}},
    ]
    messages[2]["params"]["arguments"] = {"query": "stub/alpha_get"}
    command = [sys.executable, "-m", "app.gateway.main", "--profile", "default"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, cwd=ROOT, preexec_fn=limit) as gateway:
        for message in messages:
            gateway.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            gateway.stdin.flush()
            if "id" in message:
                answer = gateway.stdout.readline().decode()
        gateway.stdin.close()
        assert gateway.wait(20) == 0
    assert "alpha_get" in answer


def test_a_home_without_a_store_on_a_full_disk_says_so(tmp_path, faults):
    import errno

    def opened():
        open_store(tmp_path / "new" / "toolcrib.db").close()

    ended = faults.run(opened, at=0, fault=errno.ENOSPC)
    assert "FullStoreError: The disk is full." in ended.text


def test_a_transaction_that_meets_a_full_disk_leaves_a_usable_connection(tmp_path, faults):
    import errno

    path = tmp_path / "toolcrib.db"
    open_store(path).close()

    def twice():
        from store.connection import transaction

        with closing(open_store(path)) as db:
            for _ in range(2):
                try:
                    with transaction(db):
                        db.execute("INSERT INTO profiles (name) VALUES (hex(randomblob(9000)))")
                except StoreError:
                    continue
            raise ValueError(str(db.in_transaction))

    calls = faults.run(twice).calls
    writes = [number for number, name in enumerate(calls) if name == "pwrite64"]
    for at in writes[-1 :: -max(1, len(writes) // 8)]:
        assert "ValueError: False" in faults.run(twice, at=at, fault=errno.ENOSPC).text
