"""A sample MCP server over stdio: `python server.py NAME`, standard library only."""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

NAMES = {
    "files": "file_box",
    "notes": "note_book",
    "calendar": "agenda",
    "tracker": "tracker",
    "mail": "mail_box",
    "weather": "weather",
    "database": "data_base",
}
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def main() -> int:
    """Answer until stdin closes."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in NAMES:
        sys.stderr.write(f"usage: server.py {' | '.join(NAMES)}\n")
        return 2
    given = os.environ.get("TOOLCRIB_SAMPLE_STATE")
    state = Path(given) if given else Path.home() / ".toolcrib-sample"
    folder = state / name
    folder.mkdir(parents=True, exist_ok=True)
    kit = importlib.import_module(f"servers.{NAMES[name]}").make(folder)
    sys.stderr.write(f"sample server {name} keeps its state in {folder}\n")
    for line in sys.stdin:
        reply = answer(kit, name, line)
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
    return 0


def answer(kit: Any, name: str, line: str) -> dict[str, Any] | None:
    """The reply to one line, None for what needs none."""
    try:
        message = json.loads(line)
    except ValueError:
        return failure(None, -32700, "Parse error")
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None
    method, params, reply_to = message["method"], message.get("params") or {}, message["id"]
    if method == "initialize":
        return success(reply_to, greeting(kit, name, params.get("protocolVersion")))
    if method == "tools/list":
        return success(reply_to, {"tools": kit.definitions()})
    if method == "tools/call":
        return success(reply_to, kit.call(params.get("name"), params.get("arguments") or {}))
    if method == "ping":
        return success(reply_to, {})
    return failure(reply_to, -32601, f"Method not found: {method}")


def greeting(kit: Any, name: str, version: Any) -> dict[str, Any]:
    """The answer to initialize."""
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": f"toolcrib-sample-{name}", "version": "1.0.0"},
        "instructions": kit.instructions,
    }


def success(reply_to: Any, result: dict[str, Any]) -> dict[str, Any]:
    """A JSON-RPC result."""
    return {"jsonrpc": "2.0", "id": reply_to, "result": result}


def failure(reply_to: Any, code: int, text: str) -> dict[str, Any]:
    """A JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": reply_to, "error": {"code": code, "message": text}}


if __name__ == "__main__":
    sys.exit(main())
