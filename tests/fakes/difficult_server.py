"""A stdio server that is hard to read: slow to start, stateless only, pages, late tools."""

import json
import sys
import time

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
PAGE = 3
tools = [f"tool_{number}" for number in range(7)]
streams = []
listed = False


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(number, **body):
    send({"id": number, "result": {"resultType": "complete", **body}})


def announce():
    for stream in streams or [0]:
        meta = {PREFIX + "subscriptionId": stream}
        send({"method": "notifications/tools/list_changed", "params": {"_meta": meta}})


def page(cursor):
    start = int(cursor or 0)
    entries = [
        {"name": name, "description": f"Does {name}", "inputSchema": {"type": "object"}}
        for name in tools[start : start + PAGE]
    ]
    more = {"nextCursor": str(start + PAGE)} if start + PAGE < len(tools) else {}
    return {"tools": entries, **more}


print("Starting up, this takes a while ...", flush=True)
time.sleep(1.5)
for line in sys.stdin:
    message = json.loads(line)
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if number is None:
        continue
    if method == "initialize":
        send({"id": number, "error": {"code": -32022, "message": "Unsupported protocol version"}})
    elif method == "server/discover":
        parts = {"tools": {"listChanged": True}}
        result(number, supportedVersions=[MODERN], capabilities=parts)
    elif method == "tools/list":
        result(number, **page(params.get("cursor")))
        if not listed:
            listed = True
            tools.insert(1, "late_tool")  # every page of the first reading is wrong now
            announce()
    elif method == "tools/call":
        result(number, content=[{"type": "text", "text": params["name"]}])
    elif method == "subscriptions/listen":
        streams.append(number)
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
