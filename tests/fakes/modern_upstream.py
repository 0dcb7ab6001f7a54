"""A stdio server of the stateless revision only (2026-07-28), stdlib only."""

import json
import os
import sys
from pathlib import Path

PREFIX = "io.modelcontextprotocol/"
LOG = os.environ.get("PROBE_LOG", "")
streams: dict = {}
TOOLS = [
    {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {}}}
    for name, text in (
        ("ask_name", "Ask the user for a name and greet"),
        ("patience", "Wants to be asked again without input"),
        ("announce", "Announce that the tools changed"),
        ("show_meta", "Return the _meta of the request"),
    )
]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(number, **body):
    send({"jsonrpc": "2.0", "id": number, "result": {"resultType": "complete", **body}})


def text(value):
    return [{"type": "text", "text": value}]


def call(number, params):
    name = params["name"]
    if name == "ask_name" and "inputResponses" not in params:
        wanted = {"type": "object", "properties": {"name": {"type": "string"}}}
        asked = {"message": "Name?", "requestedSchema": wanted, "mode": "form"}
        request = {"method": "elicitation/create", "params": asked}
        body = {"resultType": "input_required", "inputRequests": {"who": request}}
        result(number, **body, requestState="state-1")
    elif name == "ask_name":
        given = params["inputResponses"]["who"]["content"]["name"]
        result(number, content=text(f"hello {given} {params['requestState']}"))
    elif name == "patience":
        rounds = int(params.get("requestState", "0"))
        if rounds < 2:
            result(number, resultType="input_required", requestState=str(rounds + 1))
        else:
            result(number, content=text("patient"))
    elif name == "announce":
        for stream in streams:
            meta = {PREFIX + "subscriptionId": stream}
            method = "notifications/tools/list_changed"
            send({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}})
        result(number, content=text("announced"))
    else:
        result(number, content=text(json.dumps(params["_meta"])))


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if LOG:
        with Path(LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"ev": "recv", "method": method, "params": params}) + "\n")
    if number is None:
        continue
    if PREFIX + "protocolVersion" not in params.get("_meta", {}):
        data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
        error = {"code": -32022, "message": "Unsupported protocol version", "data": data}
        send({"jsonrpc": "2.0", "id": number, "error": error})
    elif method == "server/discover":
        parts = {"tools": {"listChanged": True}}
        listed = {"ttlMs": 0, "cacheScope": "private"}
        result(number, supportedVersions=["2026-07-28"], capabilities=parts, **listed)
    elif method == "tools/list":
        result(number, tools=TOOLS, ttlMs=0, cacheScope="private")
    elif method == "tools/call":
        call(number, params)
    elif method == "subscriptions/listen":
        streams[number] = params["notifications"]
    else:
        error = {"code": -32601, "message": f"Method not found: {method}"}
        send({"jsonrpc": "2.0", "id": number, "error": error})
