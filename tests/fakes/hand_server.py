"""An MCP server for calls by hand, stdlib only: texts, images, errors, one that hangs or dies."""

import json
import os
import sys
import time
from pathlib import Path

DOT = (  # a PNG of one red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to say."},
        "times": {"type": "integer", "default": 1, "minimum": 1},
        "tone": {"type": "string", "enum": ["plain", "loud"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "integer"}},
            "required": ["file"],
        },
        "dry_run": {"type": "boolean"},
        "api_key": {"type": "string"},
    },
    "required": ["text"],
}
READ_ONLY, DESTRUCTIVE = {"readOnlyHint": True}, {"destructiveHint": True}
PLAIN = {"type": "object"}
TOOLS = [
    {"name": "echo", "description": "Says it.", "inputSchema": SCHEMA, "annotations": READ_ONLY},
    {"name": "picture", "description": "A dot.", "inputSchema": PLAIN, "annotations": READ_ONLY},
    {"name": "wipe", "description": "Deletes.", "inputSchema": PLAIN, "annotations": DESTRUCTIVE},
    {"name": "fail", "description": "Fails.", "inputSchema": PLAIN, "annotations": READ_ONLY},
    {"name": "hang", "description": "Waits.", "inputSchema": PLAIN, "annotations": READ_ONLY},
]


def text(words: str, **more: object) -> dict:
    return {"content": [{"type": "text", "text": words}], **more}


def call(name: str, given: dict) -> dict | None:
    if name == "echo":
        words = " ".join([given["text"]] * given.get("times", 1))
        more = {**given, "text": words} if len(given) > 2 else {"text": words}
        return text(words, structuredContent=more)
    if name == "picture":
        return {"content": [{"type": "image", "data": DOT, "mimeType": "image/png"}]}
    if name == "wipe":
        return text("wiped")
    if name == "fail":
        return text("It did not work.", isError=True)
    if name == "leak":
        return text(f"{os.environ.get('HAND_TOKEN')} {given.get('password')}")
    if name == "hang":
        time.sleep(120)
    if name == "die":
        sys.stderr.write("no more\n")
        sys.stderr.flush()
        os._exit(7)
    return None


def main() -> None:
    if "HAND_PID" in os.environ:
        Path(os.environ["HAND_PID"]).write_text(str(os.getpid()), encoding="utf-8")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message["method"], message.get("params", {})
        reply: dict = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            reply["result"] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hand", "version": "1"},
            }
        elif method == "tools/list":
            reply["result"] = {"tools": TOOLS}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments", {}))
            if result is None:
                reply["error"] = {"code": -32602, "message": f"no tool {params['name']}"}
            else:
                reply["result"] = result
        else:
            reply["error"] = {"code": -32601, "message": "not known"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


main()
