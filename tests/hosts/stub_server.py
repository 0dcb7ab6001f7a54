"""A stdio MCP server with five probe tools and any number of others, stdlib only.

stub_server.py NAME [MORE]: MORE tools res0_action ... besides. STUB_LOG names a file for the calls.
After the first call it has one tool more and says so.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

PROBES = ("alpha_get", "alpha_list", "beta_delete", "gamma-dash.dot", "zeta-dash.dot")
LATE = "delta_new"


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "stub"
    more = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tools = [probe(tool, name) for tool in PROBES] + [filler(number) for number in range(more)]
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        method, id_ = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "tools/call" and tools[-1]["name"] != LATE:
            tools.append(probe(LATE, name))
            send({"method": "notifications/tools/list_changed"})
        if method and id_ is not None:
            send({"id": id_, **answer(method, params, name=name, tools=tools)})


def probe(tool: str, server: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return {"name": tool, "description": f"Probe tool {tool} of {server}.", "inputSchema": schema}


def filler(number: int) -> dict[str, Any]:
    words = "A parameter that controls the behaviour of the action in detail."
    properties = {f"p{i}": {"type": "string", "description": words} for i in range(5)}
    return {
        "name": f"res{number}_action",
        "description": f"Performs action number {number} on the remote resource. " * 4,
        "inputSchema": {"type": "object", "properties": properties, "required": ["p0"]},
    }


def answer(
    method: str, params: dict[str, Any], *, name: str, tools: list[dict[str, Any]]
) -> dict[str, Any]:
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        able = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        info = {"name": name, "version": "1"}
        return {"result": {"protocolVersion": version, "capabilities": able, "serverInfo": info}}
    if method == "tools/call":
        log(params["name"])
        text = f"ok from {params['name']}"
        return {"result": {"content": [{"type": "text", "text": text}]}}
    lists = {
        "tools/list": {"tools": tools},
        "prompts/list": {"prompts": []},
        "resources/list": {"resources": []},
        "resources/templates/list": {"resourceTemplates": []},
        "ping": {},
    }
    if method in lists:
        return {"result": lists[method]}
    return {"error": {"code": -32601, "message": "method not found"}}


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def log(tool: str) -> None:
    with Path(os.environ.get("STUB_LOG") or os.devnull).open("a", encoding="utf-8") as file:
        file.write(f"{tool}\n")


if __name__ == "__main__":
    main()
