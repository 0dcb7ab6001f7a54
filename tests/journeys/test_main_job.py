"""The main job from end to end: real servers, real files in a fake HOME, a real MCP client."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.fakes.verbs import Verbs

BIN = Path(sys.executable).parent
SERVERS = Path(__file__).parents[2] / ".servers"
NODE = SERVERS / "npm" / "node_modules" / "@modelcontextprotocol"
pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(not NODE.exists(), reason="needs the real servers: make servers"),
]


class Machine:
    """A fake HOME with host files, and the command line run in it."""

    def __init__(self, base: Path, verbs: Verbs) -> None:
        self._verbs = verbs
        self.home = base / "home"
        self.files = base / "files"
        self.files.mkdir()
        (self.files / "hello.txt").write_text("hello from a file\n")
        self.desktop = self.home / ".config" / "Claude" / "claude_desktop_config.json"
        self.cursor = self.home / ".cursor" / "mcp.json"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TOOLCRIB_HOME": str(base / "toolcrib"),
            "TOOLCRIB_MODELS": os.environ["TOOLCRIB_MODELS"],
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "TOOLCRIB_TEST_RUN": os.environ["TOOLCRIB_TEST_RUN"],
            "TOOLCRIB_STANDALONE": "1",
        }
        node = ["node"]
        everything = [*node, str(NODE / "server-everything" / "dist" / "index.js"), "stdio"]
        filesystem = [*node, str(NODE / "server-filesystem" / "dist" / "index.js")]
        filesystem.append(str(self.files))
        github = [*node, str(NODE / "server-github" / "dist" / "index.js")]
        time = [str(SERVERS / "python" / "bin" / "mcp-server-time"), "--local-timezone", "UTC"]
        self._write(
            self.desktop,
            {"filesystem": entry(filesystem), "time": entry(time)},
            ',\r\n  "globalShortcut": "Ctrl+Space"',
            "\r\n",
        )
        self._write(
            self.cursor,
            {
                "everything": entry(everything),
                "github": entry(github, GITHUB_PERSONAL_ACCESS_TOKEN="ghp_notarealtoken42"),
                "filesystem": entry(filesystem),
            },
            "",
            "\n",
        )
        self.before = {f: f.read_bytes() for f in (self.desktop, self.cursor)}

    def _write(self, file: Path, servers: dict[str, Any], more: str, newline: str) -> None:
        file.parent.mkdir(parents=True)
        text = json.dumps(servers, indent=4).replace("\n", "\n  ")
        whole = f'{{\n  "mcpServers": {text}{more}\n}}\n'.replace("\r\n", "\n")
        file.write_bytes(whole.replace("\n", newline).encode())

    def run(self, *args: str, code: int | Sequence[int] = 0) -> Any:
        """Run one verb with --json; its document."""
        done = self._verbs.run_text(*args, "--json", env=self.env)
        assert done.returncode in ([code] if isinstance(code, int) else code), done.stderr
        assert "ghp_notarealtoken42" not in done.stdout + done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None


def entry(command: list[str], **env: str) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:], **({"env": env} if env else {})}


@pytest.fixture
def machine(tmp_path: Path, verbs: Verbs) -> Machine:
    return Machine(tmp_path, verbs)


def servers_of(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]
    return found


def started(machine: Machine, spec: dict[str, Any]) -> StdioServerParameters:
    """Exactly what the written config says, as a host would start it."""
    base = {k: v for k, v in machine.env.items() if not k.startswith("TOOLCRIB_HOME")}
    return StdioServerParameters(
        command=spec["command"], args=spec["args"], env={**base, **spec.get("env", {})}
    )


async def listed_and_called(
    params: StdioServerParameters, calls: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[list[str], list[str]]:
    """Names of the tools a real client sees, and the text of each call's answer."""
    async with Client(params, mode="legacy", read_timeout_seconds=60) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        texts = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            texts.append("".join(getattr(part, "text", "") for part in result.content))
        return names, texts


def test_scan_trim_try_export_use_and_undo(machine: Machine) -> None:
    scanned = machine.run("scan", "--yes")
    status = {s["name"]: (s["status"], s["tools"]) for s in scanned["servers"]}
    assert set(status) == {"filesystem", "time", "everything", "github"}
    assert all(state == "read" for state, _ in status.values()), status

    again = machine.run("scan", "--yes")
    assert (again["encoded"], again["counted"]) == (0, 0)

    cost = machine.run("footprint")
    assert cost["tokenizer"] == "o200k_base"
    assert cost["total_tokens"] == sum(s["tokens"] for s in cost["servers"]) > 5_000
    assert {s["name"]: s["tools"] for s in cost["servers"]} == {
        n: t for n, (_, t) in status.items()
    }

    off = ("github/update_*", "github/fork_repository", "time/convert_time", "everything/get-env")
    machine.run("profile", "off", *off)
    less = machine.run("footprint")
    assert less["total_tokens"] < cost["total_tokens"]

    routed = machine.run("route", "what time is it in Tokyo", "--explain")
    assert (routed["tools"][0]["server"], routed["tools"][0]["name"]) == (
        "time",
        "get_current_time",
    )
    assert routed["tools"][0]["in"]
    off = next(t for t in routed["tools"] if t["name"] == "convert_time")
    assert not off["in"]
    assert off["why"] == "It is turned off in this profile"
    assert routed["tokens"] == sum(t["tokens"] for t in routed["tools"] if t["in"])

    dry = machine.run("export", "cursor", "--mode", "pruned", "--dry-run")
    assert machine.cursor.read_bytes() == machine.before[machine.cursor]
    assert dry["tokens_after"] < dry["tokens_before"]
    machine.run("export", "cursor", "--mode", "pruned")
    machine.run("export", "claude-desktop", "--mode", "through")

    written = servers_of(machine.cursor)
    assert set(written) == {"everything", "github", "filesystem"}
    assert written["github"]["env"]["GITHUB_PERSONAL_ACCESS_TOKEN"] == "ghp_notarealtoken42"
    assert Path(written["github"]["command"]).is_absolute()

    untouched = json.loads(machine.before[machine.cursor])["mcpServers"]["filesystem"]
    assert written["filesystem"] == untouched  # nothing of it is off

    names, _ = asyncio.run(listed_and_called(started(machine, written["github"]), []))
    assert "create_issue" in names
    assert "fork_repository" not in names
    names, (echo,) = asyncio.run(
        listed_and_called(
            started(machine, written["everything"]), [("echo", {"message": "through a gate"})]
        )
    )
    assert "through a gate" in echo
    _, (text,) = asyncio.run(
        listed_and_called(
            started(machine, written["filesystem"]),
            [("read_text_file", {"path": str(machine.files / "hello.txt")})],
        )
    )
    assert "hello from a file" in text

    through = servers_of(machine.desktop)
    assert set(through) == {"toolcrib"}
    assert b'"globalShortcut": "Ctrl+Space"\r\n' in machine.desktop.read_bytes()
    names, (found, now) = asyncio.run(
        listed_and_called(
            started(machine, through["toolcrib"]),
            [
                ("search_tools", {"query": "what time is it"}),
                (
                    "call_tool",
                    {"name": "time/get_current_time", "arguments": {"timezone": "Asia/Tokyo"}},
                ),
            ],
        )
    )
    assert {"search_tools", "call_tool"} <= set(names)
    assert "create_issue" not in names
    assert "get_current_time" in found
    assert "Asia/Tokyo" in now

    machine.run("restore", "cursor")
    machine.run("restore", "claude-desktop")
    assert {f: f.read_bytes() for f in machine.before} == machine.before
    assert not leaked(machine, "ghp_notarealtoken42")


def leaked(machine: Machine, secret: str) -> list[str]:
    """Toolcrib's files that hold the secret and are not made to hold one."""
    home = Path(machine.env["TOOLCRIB_HOME"])
    allowed = {home / "secrets.json"}
    return [
        str(file)
        for file in home.rglob("*")
        if file.is_file()
        and file not in allowed
        and "backups" not in file.parts
        and secret.encode() in file.read_bytes()
    ]


def test_scanning_without_consent_starts_nothing(machine: Machine) -> None:
    answer = machine.run("scan", code=4)
    assert {s["status"] for s in answer["servers"]} == {"configured"}
    assert all(s["tools"] == 0 for s in answer["servers"])
    assert {f: f.read_bytes() for f in machine.before} == machine.before


def test_an_import_makes_a_profile_of_its_own_that_the_gateway_serves(
    machine: Machine, tmp_path: Path
) -> None:
    config = tmp_path / "given.json"
    time = servers_of(machine.desktop)["time"]
    config.write_text(json.dumps({"mcpServers": {"clock": time}}))
    answer = machine.run("import", str(config), "--profile", "given", "--scan", "--yes")
    assert [(s["name"], s["status"]) for s in answer["servers"]] == [("clock", "read")]
    params = StdioServerParameters(
        command=str(BIN / "toolcrib-gateway"), args=["--profile", "given"], env=machine.env
    )
    names, (now,) = asyncio.run(
        listed_and_called(
            params,
            [("call_tool", {"name": "clock/get_current_time", "arguments": {"timezone": "UTC"}})],
        )
    )
    assert "search_tools" in names
    assert "UTC" in now


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["footprint", "--profile", "nope"], "There is no profile called nope"),
        (["export", "nohost", "--mode", "pruned"], "nohost"),
        (["import", "missing.json"], "missing.json"),
        (["profile", "off", "nothing/here"], "No tool is called nothing/here"),
        (["restore", "cursor"], "cursor"),
    ],
)
def test_refusals_are_a_title_and_a_hint_on_stderr(
    machine: Machine, args: list[str], sentence: str
) -> None:
    done = subprocess.run(
        [BIN / "toolcrib", *args],
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("toolcrib: ")
    assert sentence.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
