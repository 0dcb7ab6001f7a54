"""Host configs that name the sample servers, for a first look and for demonstrations."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from resources.sample.server import NAMES

SCRIPT = Path(__file__).with_name("server.py")
# enough for a second host to show how servers are shared between hosts
CURSOR = ("files", "tracker", "database")


def sample_config(state: Path) -> dict[str, Any]:
    """An mcpServers document of all sample servers; they keep their data below `state`."""
    python = sys.executable
    if getattr(sys, "frozen", False):  # a packaged Toolcrib is no Python interpreter
        python = shutil.which("python3") or shutil.which("python") or "python3"
    return {
        "mcpServers": {
            name: {
                "command": python,
                "args": [str(SCRIPT), name],
                "env": {"TOOLCRIB_SAMPLE_STATE": str(state), **_token(name)},
            }
            for name in NAMES
        }
    }


def write_sample_config(file: Path, state: Path) -> Path:
    """Write the document to a file that `toolcrib import` takes; the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(sample_config(state), indent=2) + "\n", encoding="utf-8")
    return file


def write_sample_home(home: Path) -> Path:
    """A home folder whose Claude Desktop and Cursor name the sample servers; the folder."""
    document = sample_config(home / "sample-state")
    servers = document["mcpServers"]
    files = {
        _claude_desktop(home): document,
        home / ".cursor" / "mcp.json": {"mcpServers": {name: servers[name] for name in CURSOR}},
    }
    for file, value in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    return home


def _token(name: str) -> dict[str, str]:
    """A made-up credential, so that masking has something to show."""
    return {"TRACKER_TOKEN": "sample-token-of-nobody"} if name == "tracker" else {}


def _claude_desktop(home: Path) -> Path:
    folders = {
        "darwin": home / "Library" / "Application Support" / "Claude",
        "win32": home / "AppData" / "Roaming" / "Claude",
    }
    folder = folders.get(sys.platform, home / ".config" / "Claude")
    return folder / "claude_desktop_config.json"
