"""Real hosts with Toolcrib's plugin: installed by the host's own command, a tool called through it.

The hosts' own files name nothing of Toolcrib, which is found where `uv tool install` puts it.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import FakeModel
from judge.hooked import HINT, HookedHousehold
from judge.journey import ANSWER, GATEWAY, SERVER, script
from judge.real import Stub, real_host
from judge.trial import Ended, program, run_program, write_files

from store.records import THROUGH

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.hosts, pytest.mark.timeout(400)]


@dataclass(frozen=True, slots=True)
class Door:
    """How a host installs a plugin of a folder, and if it runs the plugin's hook unasked."""

    host: str
    commands: Callable[[Path], tuple[tuple[str, ...], ...]]
    hooked: bool = False


def _by(last: str) -> Callable[[Path], tuple[tuple[str, ...], ...]]:
    return lambda folder: (
        ("plugin", "marketplace", "add", str(folder)),
        ("plugin", last, "toolcrib@toolcrib"),
    )


DOORS = [
    Door("claude-code", _by("install"), hooked=True),
    Door("copilot-cli", _by("install")),
    Door("codex", _by("add")),
]


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    command = [sys.executable, str(ROOT / "packaging" / "doors.py"), str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def house(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookedHousehold]:
    """A home in which Toolcrib knows the stub from Cursor's file, and the host knows nothing."""
    host = real_host(door.host)
    if not program(host).is_file():
        assert not os.environ.get("CI"), "python tests/hosts/install.py"
        pytest.skip(f"run: python tests/hosts/install.py {door.host}")
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    home = tmp_path / "home"
    installed = home / ".local" / "bin"
    installed.mkdir(parents=True)
    (installed / "toolcrib-gateway").symlink_to(GATEWAY)
    host = replace(host, arguments=tuple(_allowed(word) for word in host.arguments))
    household = HookedHousehold(host, home, Path(os.environ["TOOLCRIB_MODELS"]))
    yield household
    household.stop()
    shutil.rmtree(home, ignore_errors=True)  # hosts keep their prompts in there


def _allowed(word: str) -> str:
    """A plugin's tools have names of their own in Claude Code's list of what needs no question."""
    return "mcp__plugin_toolcrib_toolcrib" if "mcp__toolcrib" in word else word


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.host)
def test_a_tool_is_called_through_the_plugin(
    door: Door, house: HookedHousehold, doors: Path
) -> None:
    wants = replace(script(THROUGH), answers=(ANSWER, HINT))
    with FakeModel(wants, delay=house.host.delay) as model:
        set_up(house, model)
        for command in door.commands(doors):
            ended = run_program(house.host, house.home, command)
            assert ended.code == 0, told(ended)
        house.warm()
        ended = house.say("probe the tool alpha get of the stub", model)
    heard = model.conversation.requests
    assert heard, told(ended)
    assert model.conversation.asked[-2:] == ["search_tools", "call_tool"], told(ended)
    assert any(ANSWER in one.results for one in heard), told(ended)
    assert house.log.read_text(encoding="utf-8").split() == ["alpha_get"]
    assert (HINT in heard[0].results) == door.hooked


def set_up(house: HookedHousehold, model: FakeModel) -> None:
    """Read the stub from another host's file, then write this host's files without a server."""
    # a program of its own: values of an "env" would be Toolcrib's once the user has it keep them
    starter = house.home / "stub.sh"
    line = shlex.join([sys.executable, str(SERVER), "stub", "55"])
    starter.write_text(f"#!/bin/sh\nSTUB_LOG={shlex.quote(str(house.log))} exec {line}\n")
    starter.chmod(0o755)
    stub = Stub(str(starter), (), {})
    entry = {"command": stub.command}
    write_files(house.home, {".cursor/mcp.json": json.dumps({"mcpServers": {stub.name: entry}})})
    house.read()
    write_files(
        house.home,
        {name: without_servers(text) for name, text in house.host.files(stub, model.port).items()},
    )


def without_servers(text: str) -> str:
    """The host's file as it is before any server was added."""
    if not text.startswith("{"):
        return text.partition("[mcp_servers.")[0]
    tree = json.loads(text)
    tree.pop("mcpServers")
    return json.dumps(tree)


def told(ended: Ended) -> str:
    return f"code {ended.code}\n{ended.out[-1500:]}\n{ended.err[-1500:]}"
