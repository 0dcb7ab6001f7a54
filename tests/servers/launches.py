"""Launch specs of the twelve pinned real servers, with dummy credentials."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2] / ".servers"
NPM = {
    "everything": ("@modelcontextprotocol/server-everything", "stdio"),
    "filesystem": ("@modelcontextprotocol/server-filesystem", "{folder}"),
    "memory": ("@modelcontextprotocol/server-memory",),
    "github": ("@modelcontextprotocol/server-github",),
    "gitlab": ("@modelcontextprotocol/server-gitlab",),
    "slack": ("@modelcontextprotocol/server-slack",),
    "postgres": ("@modelcontextprotocol/server-postgres", "postgresql://127.0.0.1:9/none"),
    "hubspot": ("@hubspot/mcp-server",),
}
PYTHON = {
    "grafana": ("python", "mcp-grafana"),
    "time": ("python", "mcp-server-time", "--local-timezone", "UTC"),
    "git": ("python", "mcp-server-git", "--repository", "{folder}"),
    "sqlite": ("python-mcp1", "mcp-server-sqlite", "--db-path", "{folder}/notes.db"),
}
ENV = {
    "memory": {"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
    "github": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_dummy"},
    "gitlab": {"GITLAB_PERSONAL_ACCESS_TOKEN": "glpat_dummy"},
    "slack": {"SLACK_BOT_TOKEN": "xoxb-dummy", "SLACK_TEAM_ID": "T0"},
    "hubspot": {"PRIVATE_APP_ACCESS_TOKEN": "pat-dummy"},
    "grafana": {
        "GRAFANA_URL": "http://127.0.0.1:9",
        "GRAFANA_SERVICE_ACCOUNT_TOKEN": "glsa_dummy",
    },
}


def missing(name: str = "") -> str:
    """Why a real server (or any of them) cannot be started here, "" when it can."""
    parts = [PYTHON[name][0]] if name in PYTHON else ["npm"]
    if not name:
        parts = ["npm", "python", "python-mcp1"]
    lacking = [part for part in parts if not (ROOT / part / ".stamp").is_file()]
    if lacking:
        return f"not installed: .servers/{lacking[0]}; run make servers (npm needs Node)"
    return "" if "npm" not in parts or shutil.which("node") else "Node is not installed"


def mcp_servers(folder: Path, only: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """An mcpServers mapping of all twelve or of some; `folder` is what they may write into."""
    wanted = set(only) or {*NPM, *PYTHON}
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    found: dict[str, dict[str, Any]] = {}
    for name, (package, *args) in NPM.items():
        if name in wanted:
            found[name] = _entry(_node(), [_main(package), *args], name, folder)
    scripts = "Scripts" if os.name == "nt" else "bin"
    for name, (venv, command, *args) in PYTHON.items():
        if name in wanted:
            found[name] = _entry(str(ROOT / venv / scripts / command), args, name, folder)
    return found


def _entry(command: str, args: list[str], name: str, folder: Path) -> dict[str, Any]:
    def fill(text: str) -> str:
        return text.replace("{folder}", str(folder))

    env = {key: fill(value) for key, value in ENV.get(name, {}).items()}
    return {
        "command": command,
        "args": [fill(arg) for arg in args],
        **({"env": env} if env else {}),
    }


def _node() -> str:
    return shutil.which("node") or "node"


def _main(package: str) -> str:
    """The script that an npm package runs."""
    folder = ROOT / "npm" / "node_modules" / package
    about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    scripts = about["bin"]
    return str(folder / (scripts if isinstance(scripts, str) else next(iter(scripts.values()))))
