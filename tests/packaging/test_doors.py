"""The plugin, the desktop extension and the registry entry, judged by the hosts' own validators."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from store.connection import open_store
from tests.packaging.conftest import ROOT, outside

CLAUDE = ROOT / ".servers/hosts/claude-code/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64"
GATEWAY = Path(sys.executable).with_name("toolcrib-gateway")
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "door", "version": "1"},
}


@pytest.fixture
def doors(tmp_path: Path) -> Path:
    folder = tmp_path / "doors"
    script = str(ROOT / "packaging" / "doors.py")
    subprocess.run([sys.executable, script, str(folder), "someone/toolcrib"], check=True)
    return folder


def environment(tmp_path: Path) -> dict[str, str]:
    """A user's, with Toolcrib installed where no launcher looks by itself."""
    own = {"TOOLCRIB_GATEWAY": str(GATEWAY), "TOOLCRIB_HOME": str(tmp_path / "toolcrib")}
    return {**outside(tmp_path), **own, "TOOLCRIB_STANDALONE": "1"}


def call(command: list[str], env: dict[str, str]) -> list[dict]:
    """Initialize, list, and call search_tools; the answers in order."""
    search = {"name": "search_tools", "arguments": {"query": "send a mail"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": search},
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        process.stdin.flush()
        answers: list[dict] = []
        while len(answers) < 3:
            message = json.loads(process.stdout.readline())
            answers += [message] if "id" in message and "method" not in message else []
        process.stdin.close()
        assert process.wait(30) == 0
    return sorted(answers, key=lambda answer: answer["id"])


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_tool_is_called_through_the_unpacked_extension(doors: Path, tmp_path: Path) -> None:
    """As Claude Desktop does it: unpack, put the folder and the user's choice in, start."""
    place = tmp_path / "extension"
    shutil.unpack_archive(doors / "toolcrib.mcpb", place, "zip")
    server = json.loads((place / "manifest.json").read_text())["server"]
    launcher = place / server["entry_point"]
    launcher.chmod(0o755)  # zipfile keeps no modes; the host's own unpacker does
    start = server["mcp_config"]
    words = [start["command"], *start["args"]]
    known = {"${__dirname}": str(place), "${user_config.profile}": "default"}
    for name, value in known.items():
        words = [word.replace(name, value) for word in words]
    open_store(tmp_path / "toolcrib" / "toolcrib.db").close()
    _, listed, found = call(words, environment(tmp_path))
    assert {tool["name"] for tool in listed["result"]["tools"]} >= {"search_tools", "call_tool"}
    assert not found["result"].get("isError"), found


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_launcher_without_toolcrib_says_what_to_install(doors: Path, tmp_path: Path) -> None:
    launcher = doors / "plugins" / "toolcrib" / "bin" / "launch-gateway"
    env = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    installed = [Path(f"/usr/{place}bin/toolcrib-gateway") for place in ("", "local/")]
    if any(program.exists() for program in installed):
        pytest.skip("Toolcrib is installed for everyone here")
    done = subprocess.run(["/bin/sh", launcher], env=env, capture_output=True, text=True)
    assert done.returncode == 127
    assert "uv tool install toolcrib" in done.stderr and done.stdout == ""


def test_the_archive_keeps_its_launchers_executable(doors: Path) -> None:
    with zipfile.ZipFile(doors / "toolcrib.mcpb") as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes["bin/launch-gateway"] == 0o100755
    assert modes["manifest.json"] == 0o100644


def test_the_registry_entry_names_the_archive_by_its_hash(doors: Path) -> None:
    entry = json.loads((doors / "server.json").read_text())
    (package,) = entry["packages"]
    data = (doors / "toolcrib.mcpb").read_bytes()
    assert package["fileSha256"] == hashlib.sha256(data).hexdigest()
    assert entry["name"] == "io.github.someone/toolcrib"
    assert package["identifier"].endswith(f"v{entry['version']}/toolcrib.mcpb")
    assert len(entry["description"]) <= 100  # the registry's limit


@pytest.mark.hosts
def test_claude_code_takes_the_plugin_and_connects_to_the_gateway(
    doors: Path, tmp_path: Path
) -> None:
    program = CLAUDE / "claude"
    if not program.is_file():
        assert not os.environ.get("CI"), "make servers"
        pytest.skip("make servers installs Claude Code")
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    env = {**environment(tmp_path), **quiet}

    def claude(*words: str) -> str:
        done = subprocess.run(
            [program, *words],
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Validation passed" in claude(
        "plugin", "validate", str(doors / "plugins" / "toolcrib"), "--strict"
    )
    assert "Validation passed" in claude("plugin", "validate", str(doors), "--strict")
    claude("plugin", "marketplace", "add", str(doors))
    claude("plugin", "install", "toolcrib@toolcrib")
    (line,) = [line for line in claude("mcp", "list").splitlines() if "plugin:toolcrib" in line]
    assert "Connected" in line


@pytest.mark.exhaustive
def test_the_extension_passes_its_own_validator(doors: Path, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    command = [npm or "npm", "install", "--silent", "--no-save", "@anthropic-ai/mcpb@2.1.2"]
    folder = tmp_path / "validator"
    folder.mkdir()
    if not npm or subprocess.run(command, cwd=folder).returncode:
        pytest.skip("npm cannot fetch the validator")
    validate = [folder / "node_modules" / ".bin" / "mcpb", "validate", doors / "mcpb"]
    done = subprocess.run(validate, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
