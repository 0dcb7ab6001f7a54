"""The hosts' own ways in: `python packaging/doors.py [FOLDER] [OWNER/REPOSITORY]` (dist/doors).

One folder `plugins/toolcrib` for Claude Code and for Agent Plugins (VS Code, Copilot CLI, Codex)
with the gateway, the hook before a prompt and a skill; a marketplace that lists it;
`toolcrib.mcpb` for Claude Desktop, and `server.json` for the registry of MCP servers. All are
thin: they start the Toolcrib that is installed.
"""

import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.core.own_code import own_version  # noqa: E402 - needs the path above

SOURCES = ROOT / "packaging" / "doors"
ABOUT = "Your MCP servers behind two tools: search_tools finds what fits, call_tool calls it."
KEYWORDS = ["mcp", "tools", "tokens", "gateway"]
OWNER = "toolcrib/toolcrib"  # of a fork: the second argument
ARGUMENTS = ["--profile", "default"]
HOOK_SECONDS = 5  # after which the host goes on; the hook's own limit is far below

Json = dict[str, Any]


def main(folder: Path, owner: str = OWNER) -> int:
    """Write everything below `folder`."""
    write_plugin(folder / "plugins" / "toolcrib", owner)
    write(folder / ".claude-plugin" / "marketplace.json", marketplace(owner))
    bundle = write_mcpb(folder, owner)
    write(folder / "server.json", registry_entry(bundle, owner))
    print(folder)
    return 0


def write_plugin(plugin: Path, owner: str) -> None:
    """Write one folder in both layouts."""
    about = {
        "name": "toolcrib",
        "version": own_version(),
        "description": ABOUT,
        "author": {"name": "The Toolcrib authors"},
        "homepage": f"https://github.com/{owner}",
        "license": "MIT",
        "keywords": KEYWORDS,
    }
    write(plugin / ".claude-plugin" / "plugin.json", about)
    schemas = "https://agent-plugins.org/schemas/1.0.0"
    write(plugin / "plugin.json", {"$schema": f"{schemas}/plugin.schema.json", **about})
    write(plugin / ".mcp.json", servers("${CLAUDE_PLUGIN_ROOT}"))
    write(plugin / "mcp.json", {"$schema": f"{schemas}/mcp.schema.json", **servers(".")})
    write(plugin / "hooks" / "hooks.json", hooks())
    put_launchers(plugin / "bin")
    skill = plugin / "skills" / "toolcrib" / "SKILL.md"
    skill.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCES / "SKILL.md", skill)


def servers(root: str) -> Json:
    """Return the gateway's entry; `root` is the plugin's folder as the layout spells it."""
    entry = {"type": "stdio", "command": f"{root}/bin/launch-gateway", "args": ARGUMENTS}
    return {"mcpServers": {"toolcrib": entry}}


def hooks() -> Json:
    """Return the hook before a prompt; hosts that take none from a plugin ignore the file."""
    command = '"${CLAUDE_PLUGIN_ROOT}/bin/launch-gateway" hook claude-code ' + " ".join(ARGUMENTS)
    hook = {"type": "command", "command": command, "timeout": HOOK_SECONDS}
    return {
        "description": "Names the tools that fit a prompt",
        "hooks": {"UserPromptSubmit": [{"hooks": [hook]}]},
    }


def marketplace(owner: str) -> Json:
    """Return the list of plugins that Claude Code reads from a repository."""
    return {
        "$schema": "https://json.schemastore.org/claude-code-marketplace.json",
        "name": "toolcrib",
        "owner": {"name": "The Toolcrib authors", "url": f"https://github.com/{owner}"},
        "metadata": {"description": "Toolcrib for Claude Code"},
        "plugins": [
            {
                "name": "toolcrib",
                "source": "./plugins/toolcrib",
                "description": ABOUT,
                "category": "development",
            }
        ],
    }


def write_mcpb(folder: Path, owner: str) -> Path:
    """Write manifest and launchers, and the archive of them; return the archive."""
    source = folder / "mcpb"
    write(source / "manifest.json", manifest(owner))
    put_launchers(source / "bin")
    bundle = folder / "toolcrib.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(f for f in source.rglob("*") if f.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(source).as_posix(), (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if "bin" in file.parts else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
    return bundle


def manifest(owner: str) -> Json:
    """Return what Claude Desktop reads."""
    launcher = "${__dirname}/bin/launch-gateway"
    words = ["--profile", "${user_config.profile}"]
    return {
        "manifest_version": "0.3",
        "name": "toolcrib",
        "display_name": "Toolcrib",
        "version": own_version(),
        "description": ABOUT,
        "author": {"name": "The Toolcrib authors", "url": f"https://github.com/{owner}"},
        "license": "MIT",
        "keywords": KEYWORDS,
        "server": {
            "type": "binary",
            "entry_point": "bin/launch-gateway",
            "mcp_config": {
                "command": launcher,
                "args": words,
                "platform_overrides": {"win32": {"command": f"{launcher}.cmd", "args": words}},
            },
        },
        "tools_generated": True,
        "user_config": {
            "profile": {
                "type": "string",
                "title": "Profile",
                "description": "Which of Toolcrib's profiles this host gets",
                "default": "default",
                "required": False,
            }
        },
        "compatibility": {"platforms": ["darwin", "win32", "linux"]},
    }


def registry_entry(bundle: Path, owner: str) -> Json:
    """Return the gateway's entry in the registry of MCP servers: the bundle of a release."""
    version = own_version()
    schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    return {
        "$schema": schema,
        "name": f"io.github.{owner}",
        "title": "Toolcrib",
        "description": ABOUT,
        "version": version,
        "repository": {"url": f"https://github.com/{owner}", "source": "github"},
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"https://github.com/{owner}/releases/download/v{version}/"
                f"{bundle.name}",
                "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
                "transport": {"type": "stdio"},
            }
        ],
    }


def put_launchers(folder: Path) -> None:
    """Copy the programs that find the installed gateway."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("launch-gateway", "launch-gateway.cmd"):
        shutil.copyfile(SOURCES / name, folder / name)
        (folder / name).chmod(0o755)


def write(file: Path, content: Json) -> None:
    """Write JSON below folders that may be missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist" / "doors", *sys.argv[2:]))
