"""The plugin, the desktop extension and the registry entry, judged by the hosts' own validators."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from app.market.bundle import read_manifest, unpack
from app.market.details import doubts
from app.market.entry import read_entry
from tests.packaging.conftest import ROOT, outside

CLAUDE = ROOT / ".servers/hosts/claude-code/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64"
GATEWAY = Path(sys.executable).with_name("toolcrib-gateway")
# what modelcontextprotocol.io/schemas/2025-12-11/server.schema.json says of the fields used here
REGISTRY = {
    "type": "object",
    "required": ["name", "description", "version"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/"
                    "server.schema.json"},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"pattern": r"^\d+\.\d+\.\d+$"},  # no range, no "latest"
        "repository": {
            "required": ["url", "source"],
            "additionalProperties": False,
            "properties": {"url": {"pattern": "^https://"}, "source": {"const": "github"}},
        },
        "packages": {"type": "array", "items": {
            "required": ["registryType", "identifier", "transport", "fileSha256"],
            "additionalProperties": False,
            "properties": {
                "registryType": {"const": "mcpb"},
                "identifier": {"pattern": "^https://github.com/.*mcp"},
                "fileSha256": {"pattern": "^[a-f0-9]{64}$"},
                "transport": {"const": {"type": "stdio"}},
            },
        }},
    },
}  # fmt: skip
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
    own["TOOLCRIB_MODELS"] = os.environ["TOOLCRIB_MODELS"]  # else its scan exports an encoder
    return {**outside(tmp_path), **own, "TOOLCRIB_STANDALONE": "1"}


def call(command: list[str], env: dict[str, str], wanted: dict) -> list[dict]:
    """Initialize, list, and call a tool; the answers in order."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": wanted},
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
    """As a host does it: unpack, put the folder and the user's choice in, start."""
    env = environment(tmp_path)
    config = tmp_path / "config.json"
    stub = {"command": sys.executable, "args": [str(ROOT / "tests" / "hosts" / "stub_server.py")]}
    config.write_text(json.dumps({"mcpServers": {"stub": stub}}))
    read = [GATEWAY.with_name("toolcrib"), "import", config, "--scan", "--yes"]
    subprocess.run(read, env=env, check=True, capture_output=True)

    with (doors / "toolcrib.mcpb").open("rb") as archive:
        unpack("toolcrib", archive, tmp_path / "extension")
    bundle = read_manifest("toolcrib", tmp_path / "extension")
    choices = {f"${{user_config.{one.name}}}": one.default for one in bundle.inputs}
    words = [bundle.command, *(choices.get(word, word) for word in bundle.args)]
    alpha = {"name": "call_tool", "arguments": {"name": "stub/alpha_get", "arguments": {"q": "x"}}}
    _, listed, called = call(words, env, alpha)
    assert {tool["name"] for tool in listed["result"]["tools"]} >= {"search_tools", "call_tool"}
    assert "ok from alpha_get" in json.dumps(called["result"]), called


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
    hook = subprocess.run(["/bin/sh", launcher, "hook"], env=env, capture_output=True)
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b""), "said at each prompt"


def test_the_archive_keeps_its_launchers_executable(doors: Path) -> None:
    with zipfile.ZipFile(doors / "toolcrib.mcpb") as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes["bin/launch-gateway"] == 0o100755
    assert modes["manifest.json"] == 0o100644


def test_the_registry_entry_keeps_the_registrys_schema(doors: Path) -> None:
    entry = json.loads((doors / "server.json").read_text())
    jsonschema.validate(entry, REGISTRY)
    data = (doors / "toolcrib.mcpb").read_bytes()
    (package,) = entry["packages"]
    assert package["fileSha256"] == hashlib.sha256(data).hexdigest()
    assert entry["name"] == "io.github.someone/toolcrib"
    assert package["identifier"].endswith(f"v{entry['version']}/toolcrib.mcpb")


def test_toolcribs_own_reader_of_registries_takes_the_entry_without_a_doubt(doors: Path) -> None:
    entry = read_entry(json.loads((doors / "server.json").read_text()))
    assert [package.kind for package in entry.packages] == ["mcpb"]
    assert doubts(entry) == ()


def test_the_plugins_servers_are_as_the_standard_of_agent_plugins_says(doors: Path) -> None:
    plugin = doors / "plugins" / "toolcrib"
    about = json.loads((plugin / "plugin.json").read_text())
    assert set(about) <= {"$schema", "name", "version", "description", "author", "homepage",
                          "repository", "license", "keywords", "extensions"}  # fmt: skip
    (entry,) = json.loads((plugin / "mcp.json").read_text())["mcpServers"].values()
    assert set(entry) == {"type", "command", "args"} and entry["type"] == "stdio"
    assert entry["command"].startswith("./"), "Codex takes a path in the plugin or a bare name"
    assert (plugin / entry["command"]).is_file()


def test_the_launcher_for_windows_has_its_line_ends_and_looks_where_installs_go() -> None:
    data = (ROOT / "packaging" / "doors" / "launch-gateway.cmd").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    for place in (b"%USERPROFILE%\\.local\\bin", b"%LOCALAPPDATA%\\Programs\\Toolcrib"):
        assert place in data


@pytest.mark.hosts
def test_claude_codes_validator_passes_plugin_and_marketplace(doors: Path, tmp_path: Path) -> None:
    """Hosts that install and use it: tests/journeys/test_doors_in_hosts.py."""
    program = CLAUDE / "claude"
    if not program.is_file():
        assert not os.environ.get("CI"), "make servers"
        pytest.skip("make servers installs Claude Code")
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    env = {**environment(tmp_path), **quiet}
    for place in (doors / "plugins" / "toolcrib", doors):
        done = subprocess.run(
            [program, "plugin", "validate", place, "--strict"],
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        assert "Validation passed" in done.stdout, done.stdout + done.stderr


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
