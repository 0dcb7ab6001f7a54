"""From "what can read a file here" to a listed server that a host calls, over a registry of 300."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

from fake_registry import META, FakeRegistry, entry, fake_registry  # noqa: E402

from tests.fakes.verbs import Verbs  # noqa: E402

PACKAGE = ROOT / ".servers/npm/node_modules/@modelcontextprotocol/server-filesystem"
pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(not PACKAGE.exists(), reason="needs the real servers: make servers"),
]
NAME = "io.github.modelcontextprotocol/filesystem"
# npx without a network: it starts the installed package if exactly that version is meant
NPX = """#!/bin/sh
[ "$1" = -y ] && [ "$2" = "@modelcontextprotocol/server-filesystem@{version}" ] || exit 9
shift 2
exec node "{package}/dist/index.js" "$@"
"""


class Machine:
    """A fake HOME with one host, and the command line run in it."""

    def __init__(self, base: Path, verbs: Verbs) -> None:
        self._verbs = verbs
        self.home, self.files, programs = base / "home", base / "files", base / "bin"
        self.files.mkdir()
        (self.files / "hello.txt").write_text("hello from a listed server\n")
        self.cursor = self.home / ".cursor" / "mcp.json"
        self.cursor.parent.mkdir(parents=True)
        self.cursor.write_text('{"mcpServers": {}}\n')
        self.version = json.loads((PACKAGE / "package.json").read_text())["version"]
        programs.mkdir()
        npx = programs / "npx"
        npx.write_text(NPX.format(version=self.version, package=PACKAGE))
        npx.chmod(0o755)
        self.env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TOOLCRIB_HOME": str(base / "toolcrib"),
            "TOOLCRIB_MODELS": os.environ["TOOLCRIB_MODELS"],
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "TOOLCRIB_TEST_RUN": os.environ["TOOLCRIB_TEST_RUN"],
            "TOOLCRIB_STANDALONE": "1",
        }

    def run(self, *args: str, code: int = 0) -> Any:
        """Run one verb with --json; its document, or what it says where it fails."""
        done = self._verbs.run_text(*args, "--json", env=self.env)
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr


@pytest.fixture
def machine(tmp_path: Path, verbs: Verbs) -> Machine:
    return Machine(tmp_path, verbs)


@pytest.fixture
def registry(machine: Machine) -> Iterator[FakeRegistry]:
    argument = {"type": "positional", "valueHint": "folder", "isRequired": True,
                "format": "filepath", "description": "Folder that it may read"}  # fmt: skip
    package = {"registryType": "npm", "identifier": "@modelcontextprotocol/server-filesystem",
               "version": machine.version, "transport": {"type": "stdio"},
               "packageArguments": [argument]}  # fmt: skip
    real = entry(0, name=NAME, description="Reads and writes files of chosen folders",
                 packages=[package], version=machine.version)  # fmt: skip
    with fake_registry([entry(n) for n in range(1, 300)] + [real]) as server:
        yield server


async def called(spec: dict[str, Any], env: dict[str, str], calls: Sequence[Any]) -> list[str]:
    base = {k: v for k, v in env.items() if not k.startswith("TOOLCRIB_HOME")}
    params = StdioServerParameters(
        command=spec["command"], args=spec["args"], env={**base, **spec.get("env", {})}
    )
    async with Client(params, mode="legacy", read_timeout_seconds=60) as client:
        texts = [", ".join(sorted(tool.name for tool in (await client.list_tools()).tools))]
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            texts.append("".join(getattr(part, "text", "") for part in result.content))
        return texts


def test_from_a_search_to_a_host_that_calls_it(machine: Machine, registry: FakeRegistry) -> None:
    def delete(number: int) -> None:
        if number == 2:
            registry.items[5]["_meta"][META]["status"] = "deleted"

    registry.before_page = delete
    assert registry.asked == []
    machine.run("registry", "add", registry.url, "--name", "team", "--private")
    assert registry.asked == []  # nothing is fetched before a sync
    synced = machine.run("registry", "sync", "team")
    assert synced["synced"][0]["servers"] in (299, 300)

    found = machine.run("find", "read a text file in a folder of mine")
    names = [row["name"] for row in found["servers"]]
    assert NAME in names
    asked = len(registry.asked)
    known = machine.run("add", "--from", NAME, "--dry-run")
    assert known["packages"][0]["command"].startswith(
        f"npx -y @modelcontextprotocol/server-filesystem@{machine.version} "
    )
    assert "14 tools" in known["tokens"] and known["budget"].startswith("PASS")
    assert len(registry.asked) == asked  # searching and looking send nothing

    lacking = machine.run("add", "--from", NAME, code=1)
    assert "needs a value for folder" in lacking and "--set folder=VALUE" in lacking
    added = machine.run("add", "--from", NAME, "--set", f"folder={machine.files}")
    assert added["added"] == "filesystem" and added["version"] == machine.version
    assert machine.run("find", "read a text file")["servers"][0]["installed"] in ("filesystem", "")

    read = machine.run("scan", "filesystem", "--yes")
    assert [(s["name"], s["status"]) for s in read["servers"] if s["name"] == "filesystem"] == [
        ("filesystem", "read")
    ]
    held = machine.run("review")["held"]
    assert len(held) == 14 and held[0]["tool"].startswith("filesystem/")
    cost = machine.run("footprint")
    assert cost["shown_tokens"] == 0 if "shown_tokens" in cost else True

    machine.run("trust", "filesystem")
    assert machine.run("review")["held"] == []
    machine.run("profile", "off", "filesystem/write_file", "filesystem/move_file")
    machine.run("export", "cursor", "--mode", "through", "--also", "filesystem")
    (spec,) = json.loads(machine.cursor.read_text())["mcpServers"].values()
    path = str(machine.files / "hello.txt")
    call = {"name": "filesystem/read_text_file", "arguments": {"path": path}}
    listed, answer = asyncio.run(called(spec, machine.env, [("call_tool", call)]))
    assert "call_tool" in listed and "hello from a listed server" in answer


def test_held_tools_are_not_called_before_they_are_approved(
    machine: Machine, registry: FakeRegistry
) -> None:
    machine.run("registry", "add", registry.url, "--name", "team", "--private")
    machine.run("registry", "sync", "team")
    machine.run("add", "--from", NAME, "--set", f"folder={machine.files}")
    machine.run("scan", "filesystem", "--yes")
    machine.run("trust", "filesystem/read_text_file")
    machine.run("export", "cursor", "--mode", "through", "--also", "filesystem")
    (spec,) = json.loads(machine.cursor.read_text())["mcpServers"].values()
    path = str(machine.files / "hello.txt")
    calls = [
        ("call_tool", {"name": f"filesystem/{name}", "arguments": {"path": path}})
        for name in ("read_text_file", "get_file_info")
    ]
    _listed, approved, waiting = asyncio.run(called(spec, machine.env, calls))
    assert "hello" in approved and "tool_not_available" in waiting


def test_a_version_that_vanished_since_the_look_is_not_added(
    machine: Machine, registry: FakeRegistry
) -> None:
    machine.run("registry", "add", registry.url, "--name", "team", "--private")
    machine.run("registry", "sync", "team")
    real = registry.items.pop()
    gone = machine.run("add", "--from", NAME, "--set", f"folder={machine.files}", code=1)
    assert NAME in gone and "no longer listed" in gone
    real["server"]["packages"][0]["packageArguments"] = []
    registry.items.append(real)
    changed = machine.run("add", "--from", NAME, code=1)
    assert "not what was shown any more" in changed
    registry.mode = "other_server"
    other = machine.run("add", "--from", NAME, code=1)
    assert "server-666" in other and "Nothing was added" in other
    registry.mode = ""
    real["_meta"][META]["status"] = "deleted"
    deleted = machine.run("add", "--from", NAME, code=1)
    assert "was deleted" in deleted
    assert machine.run("footprint")["servers"] == []


def test_what_is_typed_wrong_is_a_sentence(machine: Machine) -> None:
    assert "No list names a server called nothing-here" in machine.run(
        "add", "--from", "nothing-here", code=1
    )
    assert "required: name, command" in machine.run("add", code=2)
    assert "belong to --from" in machine.run("add", "x", "--dry-run", "--", "npx", "y", code=1)
    assert "pins no version" in machine.run("add", "--from", "12306-mcp", code=1)
    assert "A source is called official" in machine.run(
        "registry", "add", "https://example.com", "--name", "official", code=1
    )
