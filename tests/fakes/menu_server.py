"""A real server on stdio whose tools hide others: a search, a call by name, a switch.

MENU=search|switch|large|group|named|asked|gateway chooses what it lists; each call is written to
MENU_LOG. "gateway" finds the tools of the servers that MENU_REACHED names, those of MENU_NAMED by
a whole word and without their server.
"""

import json
import os
import sys
from pathlib import Path

HIDDEN = {
    "files": ["read_page", "write_page", "list_pages"],
    "mail": ["send_letter", "list_letters"],
}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
CALL = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name"],
}
GROUP = {
    "type": "object",
    "properties": {"group": {"type": "string", "enum": list(HIDDEN)}},
    "required": ["group"],
}
NAMED = {
    "type": "object",
    "properties": {"tools": {"type": "array", "items": {"type": "string"}}},
    "required": ["tools"],
}
ASKED = {"type": "object", "properties": {"category": {"type": "string"}}}
on: list[str] = []


def tool(name: str, schema: dict, **more: object) -> dict:
    return {"name": name, "description": f"{name} of the menu", "inputSchema": schema, **more}


def hidden(names: list[str]) -> list[dict]:
    return [
        tool(name, {"type": "object", "properties": {"id": {"type": "string"}}}) for name in names
    ]


def listed() -> list[dict]:
    kind = os.environ["MENU"]
    if kind == "search":
        wipe = tool("search_wiped_tools", QUERY, annotations={"destructiveHint": True})
        return [tool("search_tools", QUERY), tool("call_tool", CALL), wipe]
    if kind == "gateway":
        fields = {"query": {"type": "string"}, "server": {"type": "string"}}
        return [tool("search_tools", {"properties": fields}), tool("call_tool", CALL)]
    if kind == "group":
        return [tool("get_menu_tools", GROUP), tool("call_tool", CALL)]
    if kind == "named":
        menu = [tool("list_tools", {"type": "object"}), tool("enable_tools", NAMED)]
        return [*menu, *hidden(on)]
    if kind == "asked":
        names = [name for group in on for name in HIDDEN[group]]
        return [tool("discover_tools", ASKED), *hidden(names)]
    domain = ["list_groups", *(f"plain_{n}" for n in range(20))] if kind == "large" else []
    menu = [*(tool(name, {"type": "object"}) for name in domain)]
    menu += [tool("enable_toolset", GROUP), tool("disable_toolset", GROUP), tool("plain", QUERY)]
    return [*menu, *hidden([name for group in on for name in HIDDEN[group]])]


def answer(name: str, arguments: dict) -> dict:
    with Path(os.environ["MENU_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps([name, arguments]) + "\n")
    every = [one for names in HIDDEN.values() for one in names]
    if name == "search_tools" and os.environ["MENU"] == "gateway":
        word, server = arguments.get("query", ""), arguments.get("server")
        reached = [one for one in os.environ["MENU_REACHED"].split(",") if server in (one, None)]
        rows = [
            {"name": one, "description": f"of {group}", "server": group}
            for group in reached
            for one in HIDDEN.get(group, ())
            if word in one
        ]
        named = [] if server else os.environ.get("MENU_NAMED", "").split()
        rows += [
            {"name": one, "description": "of a server"}
            for one in named
            if word in ("", *one.split("_"))
        ]
        return {"content": [{"type": "text", "text": json.dumps(rows)}]}
    if name == "search_tools":
        word = arguments["query"]
        hits = [one for one in every if word and word in one]
        return {"content": [{"type": "text", "text": json.dumps({"tools": hidden(hits)})}]}
    if name == "get_menu_tools":
        lines = "\n".join(f"- {one}: of {arguments['group']}" for one in HIDDEN[arguments["group"]])
        return {"content": [{"type": "text", "text": lines}]}
    if name == "list_tools":
        rows = [{"name": one, "enabled": False, "description": "of the menu"} for one in every]
        return {"content": [{"type": "text", "text": json.dumps(rows)}]}
    if name == "enable_tools":
        on.extend(one for one in arguments["tools"] if one in every)
    if name == "discover_tools" and "category" not in arguments:
        rows = [{"id": group, "toolCount": len(names)} for group, names in HIDDEN.items()]
        return {"content": [{"type": "text", "text": json.dumps({"categories": rows})}]}
    if name == "discover_tools":
        on.append(arguments["category"])
    if name == "enable_toolset":
        on.append(arguments["group"])
    return {"content": [{"type": "text", "text": "done"}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        result: dict = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "menu", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": listed()}
    elif method == "tools/call":
        result = answer(params["name"], params.get("arguments") or {})
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
