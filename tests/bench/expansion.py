"""Counts after expansion beside the true numbers: real gateways, and real servers that grow.

Gateways and servers are installed beforehand below one folder (see `install`); upstreams are the
pinned real servers of tests/servers. Everything runs through the verbs, as a user would.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.bench.report import Column, Report, label, table
from tests.servers.launches import mcp_servers

UPSTREAMS = ("filesystem", "memory", "everything", "time", "git")
Launch = dict[str, Any]
_NOTE = (
    "Listed is what tools/list gives, counted what Toolcrib says after `footprint --expand`. True"
    " is what the upstreams list to a client that offers nothing (one that offers roots, as"
    " slop-mcp does, is listed one more), or a server with everything on. Unknown is 1 where"
    " Toolcrib says that a server hides tools and that their number is not known."
)


def install(folder: Path) -> None:
    """Install the gateways and servers with npm and pip."""
    npm = ("npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", str(folder))
    packages = (
        "@kimuson/modular-mcp@0.0.5",
        "@standardbeagle/slop-mcp@0.15.0",
        "@zereight/mcp-gitlab@2.1.64",
        "xcodebuildmcp@2.7.0",
        "@salesforce/mcp@0.30.15",
    )
    # what @salesforce/mcp takes of undici wants a newer Node than it says itself
    overrides = {"@jsforce/jsforce-node": {"undici": "7.16.0"}}
    _file(_made(folder), "package.json", {"private": True, "overrides": overrides})
    subprocess.run([*npm, *packages], check=True, stdout=sys.stderr)
    for name in ("mcp-compressor==0.38.2", "lazy-mcp==2.7.2", "dmcp==1.5.0"):
        place = folder / name.partition("=")[0]
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([place / "bin" / "pip", "install", "-q", name], check=True)


def run(peers: Path, work: Path) -> Report:
    """Both tables."""
    upstreams = mcp_servers(_made(work / "sandbox"), UPSTREAMS)
    true = sum(bare_count(launch) for launch in upstreams.values())
    gateways = [
        _row(name, measure(work / name, {name: make(peers, _made(work / name), upstreams)}), true)
        for name, make in _GATEWAYS.items()
    ]
    growing = [
        _row(name, measure(work / name, {name: launch}), most)
        for name, launch, most in _growing(peers, work)
    ]
    columns = [label("server"), *map(Column, ("listed", "counted", "true", "tokens", "unknown"))]
    tables = (
        table("Gateways over five real servers", columns, gateways),
        table("Servers whose lists grow", columns, growing),
    )
    return Report("expansion", tables, (_NOTE,))


def _row(name: str, answer: Mapping[str, Any], true: int) -> tuple[Any, ...]:
    listed = sum(server["tools"] for server in answer["servers"])
    whole = answer["expanded"]
    behind = sum(one["tools"] for one in whole["behind"])
    gateway = name in _GATEWAYS
    counted = behind if gateway else whole["tools"]
    return (name, listed, counted, true, whole["tokens"], len(whole["unknown"]))


def measure(home: Path, servers: Mapping[str, Launch]) -> dict[str, Any]:
    """Answer of the verbs on these servers, in a home of their own; the encoder is one for all."""
    _made(home / ".cursor")
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    own = {"TOOLCRIB_HOME": str(home / "own"), "TOOLCRIB_MODELS": str(home.parent / "models")}
    environ = {**os.environ, "HOME": str(home), **own}
    for words in (("scan", "--yes"), ("footprint", "--expand", "--yes", "--tools", "--json")):
        done = subprocess.run(
            [str(Path(sys.executable).parent / "toolcrib"), *words],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def bare_count(launch: Launch) -> int:
    """Number of tools that a server lists to a client that offers nothing."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bare", "version": "1"},
    }
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    with subprocess.Popen(
        [launch["command"], *launch["args"]],
        env={**os.environ, **launch.get("env", {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        stdin, stdout = server.stdin, server.stdout
        try:
            for line in lines:
                print(json.dumps(line), file=stdin, flush=True)
            answers = (json.loads(line) for line in stdout or () if line.startswith("{"))
            return next(len(one["result"]["tools"]) for one in answers if one.get("id") == 2)
        finally:
            server.kill()


def _names(answer: Mapping[str, Any]) -> set[str]:
    return {tool["name"] for server in answer["servers"] for tool in server["list"]}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _file(folder: Path, name: str, value: object) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def _node() -> str:
    return shutil.which("node") or "node"


def _described(upstreams: Mapping[str, Launch]) -> dict[str, Launch]:
    return {name: {**one, "description": f"{name} server"} for name, one in upstreams.items()}


def _modular(peers: Path, work: Path, upstreams: Mapping[str, Launch]) -> Launch:
    config = _file(work, "modular.json", {"mcpServers": _described(upstreams)})
    return {"command": _node(), "args": [str(peers / "node_modules/.bin/modular-mcp"), config]}


def _compressor(peers: Path, work: Path, upstreams: Mapping[str, Launch]) -> Launch:
    config = _file(work, "compressor.json", {"mcpServers": dict(upstreams)})
    program = str(peers / "mcp-compressor/bin/mcp-compressor")
    return {"command": program, "args": ["-c", "max", "--config", config]}


def _lazy(peers: Path, work: Path, upstreams: Mapping[str, Launch]) -> Launch:
    servers = [
        {
            "name": name,
            "description": f"{name} server",
            "command": [one["command"], *one["args"]],
            "env": one.get("env", {}),
        }
        for name, one in upstreams.items()
    ]
    config = _file(work, "lazy.json", {"servers": servers})
    return {"command": str(peers / "lazy-mcp/bin/lazy-mcp"), "args": ["--config", config]}


def _dmcp(peers: Path, work: Path, upstreams: Mapping[str, Launch]) -> Launch:
    config = _file(work, "dmcp.json", {"mcpServers": _described(upstreams)})
    return {"command": str(peers / "dmcp/bin/dmcp"), "args": [config]}


def _slop(peers: Path, work: Path, upstreams: Mapping[str, Launch]) -> Launch:
    lines = []
    for name, one in upstreams.items():
        args = " ".join(json.dumps(arg) for arg in one["args"])
        lines += [f"mcp {json.dumps(name)} {{", f"    command {json.dumps(one['command'])}"]
        lines += [f"    args {args}", "    env {"]
        lines += [f"        {key} {json.dumps(value)}" for key, value in one.get("env", {}).items()]
        lines += ["    }", "}"]
    _file(work, ".slop-mcp.kdl", "\n".join(lines))
    program = peers / "node_modules/@standardbeagle/slop-mcp/binaries/slop-mcp-linux-amd64"
    program.chmod(0o755)
    own = {"HOME": str(work), "XDG_CONFIG_HOME": str(work / "xdg")}
    return {"command": str(program), "args": ["serve"], "cwd": str(work), "env": own}


_GATEWAYS: dict[str, Callable[[Path, Path, Mapping[str, Launch]], Launch]] = {
    "modular-mcp": _modular,
    "mcp-compressor": _compressor,
    "lazy-mcp": _lazy,
    "dmcp": _dmcp,
    "slop-mcp": _slop,
}


def _growing(peers: Path, work: Path) -> list[tuple[str, Launch, int]]:
    """Servers that list more once asked to, with the number that they list at most."""
    gitlab = {"GITLAB_PERSONAL_ACCESS_TOKEN": "none", "GITLAB_API_URL": "http://127.0.0.1:9/api/v4"}
    xcode = {"XCODEBUILDMCP_SENTRY_DISABLED": "true"}
    discovery = {"XCODEBUILDMCP_EXPERIMENTAL_WORKFLOW_DISCOVERY": "true"}
    workflows = sorted(
        file.stem for file in (peers / "node_modules/xcodebuildmcp/manifests/workflows").glob("*")
    )
    sales = ("--orgs", "DEFAULT_TARGET_ORG", "--no-telemetry")
    pairs = {
        "gitlab": (
            _npm(peers, "mcp-gitlab", env=gitlab),
            _npm(peers, "mcp-gitlab", env=gitlab | {"GITLAB_TOOLSETS": "all"}),
        ),
        "salesforce": (
            _npm(peers, "sf-mcp-server", *sales, "--dynamic-tools"),
            _npm(peers, "sf-mcp-server", *sales, "--toolsets", "all"),
        ),
        "xcodebuildmcp": (
            _npm(peers, "xcodebuildmcp", "mcp", env=xcode | discovery),
            _npm(
                peers,
                "xcodebuildmcp",
                "mcp",
                env=xcode | discovery | {"XCODEBUILDMCP_ENABLED_WORKFLOWS": ",".join(workflows)},
            ),
        ),
    }
    rows = []
    for name, (few, every) in pairs.items():
        # with its switches, which a list with everything on leaves out
        both = _names(measure(work / f"{name}-all", {name: every}))
        both |= _names(measure(work / f"{name}-few", {name: few}))
        rows.append((name, few, len(both)))
    return rows


def _npm(peers: Path, program: str, *args: str, env: Mapping[str, str] | None = None) -> Launch:
    launch = {"command": _node(), "args": [str(peers / "node_modules/.bin" / program), *args]}
    return {**launch, "env": dict(env or {})}
