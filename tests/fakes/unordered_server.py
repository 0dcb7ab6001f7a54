"""A server that joins sets into texts, as mcp-atlassian does: another order in every process.

UNORDERED_EXTRA: a name that is one more of them.
"""

import json
import os
import sys

FIELDS = {f"field_{letter}" for letter in "abcdefghijklmnop"} | {"*all"}
FIELDS |= set(filter(None, [os.environ.get("UNORDERED_EXTRA")]))
JOINED = ",".join(FIELDS)
TOOLS = [
    {
        "name": "get_issue",
        "description": f"Get an issue with fields (default: '{JOINED}'), or all of them.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "key": {"type": "string"},
                "fields": {"type": "string", "default": JOINED, "examples": list(FIELDS)},
                "kind": {"enum": list(FIELDS), "description": f"One of {JOINED} or {FIELDS}."},
            },
            "required": ["key"],
        },
    }
]

for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params") or {}
    answers = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "unordered", "version": "1"},
        },
        "tools/list": {"tools": TOOLS},
        "tools/call": {"content": [{"type": "text", "text": f"{os.getpid()} got it"}]},
        "ping": {},
    }
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
        print(json.dumps(answer), flush=True)
