"""A server whose tools/list is whatever stands in a file: CHANGING_TOOLS; calls go to CHANGING_LOG.

The tool `announce` sends notifications/tools/list_changed.
"""

import json
import os
import sys
from pathlib import Path

TOOLS, LOG = Path(os.environ["CHANGING_TOOLS"]), Path(os.environ["CHANGING_LOG"])


def tell(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def called(params: dict) -> dict:
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(params) + "\n")
    if params["name"] == "announce":
        tell({"method": "notifications/tools/list_changed"})
    return {"content": [{"type": "text", "text": f"{params['name']} done"}]}


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "changing", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": json.loads(TOOLS.read_text(encoding="utf-8"))}
    return called(params) if method == "tools/call" else {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        tell({"id": message["id"], "result": answer(message["method"], message.get("params", {}))})
