"""Four small servers of an office with answers of their own; OFFICE says which one this is.

Results come from the file OFFICE_TEXTS (JSON: {tool or tool:argument: text}), calls go into
OFFICE_LOG, a line each, so that a test sees what really reached the server.
"""

import json
import os
import sys
from pathlib import Path

OFFICE = os.environ["OFFICE"]
TEXTS = json.loads(Path(os.environ["OFFICE_TEXTS"]).read_text(encoding="utf-8"))
LOG = Path(os.environ["OFFICE_LOG"])
TOOLS = {
    "files": {
        "read_file": ("Read a file of the project", ["path"]),
        "list_folder": ("List a folder of the project", ["path"]),
        "write_file": ("Write a file of the project", ["path", "content"]),
    },
    "tickets": {
        "get_ticket": ("Read a support ticket", ["number"]),
        "search_tickets": ("Search the support tickets", ["query"]),
        "comment_ticket": ("Comment on a support ticket", ["number", "body"]),
    },
    "web": {
        "fetch_page": ("Fetch a web page as text", ["url"]),
        "search_web": ("Search the web", ["query"]),
    },
    "mail": {
        "send_mail": ("Send a mail", ["to", "subject", "body"]),
        "list_inbox": ("List the newest mails", ["limit"]),
        "read_mail": ("Read a mail", ["id"]),
    },
}[OFFICE]


def listed():
    for name, (description, arguments) in TOOLS.items():
        properties = {argument: {"type": "string"} for argument in arguments}
        schema = {"type": "object", "properties": properties}
        yield {"name": name, "description": description, "inputSchema": schema}


def called(params):
    name, given = params["name"], params.get("arguments") or {}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps([f"{OFFICE}/{name}", given]) + "\n")
    first = str(next(iter(given.values()), ""))
    text = TEXTS.get(f"{name}:{first}", TEXTS.get(name, f"{name}: done"))
    return {"content": [{"type": "text", "text": text}]}


def answer(message):
    if message["method"] == "initialize":
        about = {"name": OFFICE, "version": "1"}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/list":
        return {"tools": list(listed())}
    return called(message["params"]) if message["method"] == "tools/call" else {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answered = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        sys.stdout.write(json.dumps(answered) + "\n")
        sys.stdout.flush()
