"""An `npx` that starts a program of ours for `name@version`: packages without a network."""

import json
import os
import stat
import sys
from pathlib import Path

SERVER = Path(__file__).with_name("changing_server.py")
# tools of a version are a file beside it; the folder it runs in and its key are written down
SHIM = """#!/bin/sh
[ "$1" = -y ] || exit 9
file="{folder}/$2.json"
[ -f "$file" ] || exit 8
pwd >> "{folder}/started"
echo "$SKY_TOKEN" >> "{folder}/keys"
CHANGING_TOOLS="$file" CHANGING_LOG="{folder}/calls" exec "{python}" "{server}"
"""


def tool(name: str, text: str) -> dict[str, object]:
    """A tool that takes nothing."""
    return {"name": name, "description": text, "inputSchema": {"type": "object"}}


class Packages:
    """A folder with an npx first on the PATH, and the versions that it knows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        shim = folder / "npx"
        shim.write_text(SHIM.format(folder=folder, python=sys.executable, server=SERVER))
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)

    @property
    def path(self) -> str:
        """A PATH with it first."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def publish(self, package: str, version: str, *tools: dict[str, object]) -> None:
        """A version with these tools."""
        (self.folder / f"{package}@{version}.json").write_text(json.dumps(tools))

    def lines(self, name: str) -> list[str]:
        """What was written down: `started` folders or `keys`."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []
