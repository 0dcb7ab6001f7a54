"""Installs the servers of a list and reads their tools, for `bench scanner --own` and the pack.

Usage: fresh_servers.py FOLDER [LIST]   (what is there already is neither installed nor read again)

LIST is fresh_servers.toml, or pack_servers.toml for the servers of resources/requests. Every server
runs without a real credential, in a throwaway home, as a scan would run it. The lists of tools are
their authors' work under the licences named beside them: they stay in FOLDER, never here.
"""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from app.hosts.launch import STDIO, LaunchSpec  # noqa: E402
from app.registry.probe import ProbeOptions, probe  # noqa: E402
from store.typed import Json  # noqa: E402

LISTS = "fresh_catalog.jsonl"
PASSED_ON = ("PATH", "LANG", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def main(folder: Path, listed: Path) -> int:
    """Write a line a server that lists tools; 1 when one of them no longer does."""
    servers = tomllib.loads(listed.read_text(encoding="utf-8"))["server"]
    file = folder / LISTS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    known = {json.loads(line)["package"]: line for line in lines}
    failed = 0
    for server in servers:
        package = server["package"]
        if package not in known:
            row = read(server, folder / "servers" / package.replace("/", "-"))
            failed += not row
            if row:
                known[package] = json.dumps(row, ensure_ascii=False)
                file.write_text("\n".join(known.values()) + "\n", encoding="utf-8")
    return 1 if failed else 0


def read(server: Json, folder: Path) -> Json:
    """What a server says of itself, {} where it lists no tools."""
    try:
        command = python_part(server, folder) if server["from"] == "pypi" else npm(server, folder)
    except subprocess.CalledProcessError as error:
        print(f"{server['package']}: not installed ({error})", file=sys.stderr)
        return {}
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    args = tuple(arg.replace("{here}", str(HERE)) for arg in server.get("args", ()))
    env = {name: v.replace("{here}", str(HERE)) for name, v in server.get("env", {}).items()}
    launch = LaunchSpec(STDIO, str(command), args, env=env)
    reading = probe(launch, options=ProbeOptions(environ=environ, scratch_home=True))
    tools = [tool.raw for tool in reading.tools]
    print(f"{server['package']} {server['version']}: {len(tools)} tools. {reading.problem}")
    if not tools:
        return {}
    return {
        **{key: server[key] for key in ("package", "version", "licence")},
        "instructions": reading.instructions,
        "tools": tools,
    }


def python_part(server: Json, folder: Path) -> Path:
    """The command of a PyPI package, in an environment of its own."""
    if not folder.is_dir():
        if "python" in server:
            subprocess.run([server["python"], "-m", "venv", folder], check=True)
        else:
            venv.create(folder, with_pip=True)
        wanted = [f"{server['package']}=={server['version']}", *server.get("with", ())]
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted]
        subprocess.run(pip, check=True)
    return folder / "bin" / server["command"]


def npm(server: Json, folder: Path) -> Path:
    """The command of an npm package, in a folder of its own; nothing of it runs at installation."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        wanted = f"{server['package']}@{server['version']}"
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(["npm", "install", *quiet, "--prefix", folder, wanted], check=True)
    return folder / "node_modules" / ".bin" / server["command"]


if __name__ == "__main__":
    named = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "fresh_servers.toml"
    sys.exit(main(Path(sys.argv[1]).resolve(), named))
