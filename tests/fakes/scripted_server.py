"""A server that says what a file says: SCRIPT is a JSON object, read anew for every request.

Keys are methods, with the name after a colon where a request has one ("tools/call:read"); the
value is the result. "ask:NAME" is what a call of that tool asks the host for first, and
"wait:METHOD" the file without which that method is not answered.
"""

import json
import os
import sys
import time
from pathlib import Path

SCRIPT = Path(os.environ["SCRIPT"])
PARTS = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {}}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(script, message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        about = {"name": "scripted", "version": "1"}
        version = params["protocolVersion"]
        more = {"capabilities": PARTS, "serverInfo": about}
        return {"protocolVersion": version, **more, **script.get("initialize", {})}
    name = params.get("name") or params.get("uri") or ""
    found = script.get(f"{method}:{name}", script.get(method))
    if found is not None:
        return found
    lists = {"resources/templates/list": "resourceTemplates"}
    key = lists.get(method, method.partition("/")[0])
    return {key: []} if method.endswith("/list") else {}


def wait_for(file, seconds=30.0):
    until = time.monotonic() + seconds
    while not Path(file).exists() and time.monotonic() < until:
        time.sleep(0.02)


def main():
    waiting = None
    for line in sys.stdin:
        message, script = json.loads(line), json.loads(SCRIPT.read_text(encoding="utf-8"))
        if "method" not in message:  # the host's answer to a question
            text = json.dumps(message.get("result"))
            content = [{"type": "text", "text": text}]
            send({"id": waiting, "result": {"content": content}})
        elif "id" in message:
            asked = script.get(f"ask:{(message.get('params') or {}).get('name')}")
            if message["method"] == "tools/call" and asked:
                waiting = message["id"]
                send({"id": "question-1", **asked})
            else:
                if file := script.get(f"wait:{message['method']}"):
                    wait_for(file)
                send({"id": message["id"], "result": result_of(script, message)})
                for note in script.get("announce", ()):
                    send({"method": note})


main()
