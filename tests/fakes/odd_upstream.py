"""A stdio server that sends exactly what a call asks it to: lines with @ID@ for the call's id.

ODD_LOG names a file for what it received.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

CHILD = "import time; time.sleep(600)"
TOOLS = [
    {"name": name, "description": text, "inputSchema": {"type": "object"}}
    for name, text in (
        ("send", "Send raw lines, then answer or not"),
        ("bomb", "Answer with many small lists"),
        ("family", "Start children that leave the group and the environment behind"),
    )
]


LISTED = list(TOOLS)  # until a call says otherwise


def raw(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(number, result):
    raw(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


def call(number, name, arguments):
    if name == "bomb":
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"a":[')
        for _ in range(arguments["megabytes"]):
            sys.stdout.write("[]," * 333_333)
        raw("[]]}}")
        return
    if name == "family":
        options = {"stdin": subprocess.DEVNULL, "start_new_session": True}
        for env in (None, {}):
            subprocess.Popen([sys.executable, "-S", "-c", CHILD], env=env, **options)
    if "tools" in arguments:
        LISTED[:] = arguments["tools"]
    for line in arguments.get("lines", ()):
        raw(line.replace("@ID@", str(number)))
    if arguments.get("answer", True):
        answer(number, {"content": [{"type": "text", "text": "as it should be"}]})


for received in sys.stdin:
    if "ODD_LOG" in os.environ:
        with Path(os.environ["ODD_LOG"]).open("a", encoding="utf-8") as log:
            log.write(received)
    message = json.loads(received)
    number, params = message.get("id"), message.get("params") or {}
    if message.get("method") == "initialize":
        parts = {"tools": {"listChanged": True}}
        info = {"name": "odd", "version": "1"}
        version = params["protocolVersion"]
        answer(number, {"protocolVersion": version, "capabilities": parts, "serverInfo": info})
    elif message.get("method") == "tools/list":
        answer(number, {"tools": LISTED})
    elif message.get("method") == "tools/call":
        call(number, params["name"], params.get("arguments") or {})
    elif number is not None and "method" in message:
        answer(number, {})
