"""A stdio MCP server that uses every part of the protocol, and misbehaves on demand.

PROBE_MODE: ok | exit | hang | slow | flood | banner | stubborn | family | no-templates |
no-discovery-dies | no-discovery-silent. PROBE_LOG: a file that
gets one line per message received. PROBE_NAME: what it calls itself.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

MODE = os.environ.get("PROBE_MODE", "ok")
NAME = os.environ.get("PROBE_NAME", "probe")
LOG = os.environ.get("PROBE_LOG", "")
lock = threading.Lock()
asked: dict = {}
cancelled: set = set()
added: list = []
count = [0]


def tool(name, description, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema, **more}


TEXT = {"text": {"type": "string"}}
TOOLS = [
    tool("echo", "Return the given text", TEXT, ["text"], title="Echo", _meta={"x/y": 1}),
    tool("read_note", "Read a note by its number", {"number": {"type": "integer"}}, ["number"]),
    tool("delete_note", "Delete a note for good", {"number": {"type": "integer"}}, ["number"]),
    tool("login", "Sign in to the notes service"),
    tool("meta", "Return the _meta of the request"),
    tool("args", "Return the arguments as they came", {"x": {}}),
    tool("progress", "Report progress three times"),
    tool("log", "Write a log message"),
    tool("sample", "Ask the host's model"),
    tool("elicit", "Ask the user for a name"),
    tool("sleep", "Sleep for some milliseconds", {"ms": {"type": "integer"}}, ["ms"]),
    tool("hang", "Never answer"),
    tool("crash", "End the process in the middle of a call"),
    tool("big", "Return a large text", {"kb": {"type": "integer"}}, ["kb"]),
    tool("big_structured", "Return large structured content", {"items": {"type": "integer"}}),
    tool("rpc_error", "Answer with a protocol error"),
    tool("is_error", "Answer with a tool error"),
    tool("bad_utf8", "Answer with bytes that are no UTF-8"),
    tool("twice", "Answer the same request twice"),
    tool("liar", "Says it wants a number but takes anything", {"n": {"type": "integer"}}, ["n"]),
    tool("add_tool", "Add a zebra counting tool and announce it", {"raw": {}}),
    tool("update", "Announce that a resource changed"),
    tool("pid", "Return the process id"),
    tool("task", "Answer with a task that goes on"),
    tool("unauthorized", "Always answers 401 Unauthorized"),
    tool("strays", "Send answers that nobody waits for, then the right one"),
    tool("drop_tools", "Take back the tools that were added and announce it"),
    *json.loads(os.environ.get("PROBE_TOOLS", "[]")),
]


def note(**entry):
    if LOG:
        with Path(LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def raw(data: bytes):
    with lock:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()


def send(message):
    try:
        raw(json.dumps(message, ensure_ascii=False).encode())
    except UnicodeEncodeError:  # half a surrogate pair goes out as an escape
        raw(json.dumps(message).encode())


def tell(method, params=None):
    send({"jsonrpc": "2.0", "method": method, "params": params or {}})


def ask(method, params):
    count[0] += 1
    number = f"{NAME}-{count[0]}"
    asked[number] = [threading.Event(), None]
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    asked[number][0].wait(10)
    return asked[number][1]


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def call(number, params):
    name, given = params.get("name"), params.get("arguments") or {}
    meta = params.get("_meta") or {}

    def ok(result):
        send({"jsonrpc": "2.0", "id": number, "result": result})

    if name == "echo":
        ok(text(given.get("text", ""), _meta={"r": 1}))
    elif name in ("read_note", "delete_note", "login"):
        ok(text(f"{name} {given.get('number', '')} done"))
    elif name == "meta":
        ok(text(json.dumps(meta)))
    elif name == "args":
        ok(text(json.dumps(given, sort_keys=True)))
    elif name == "progress":
        for step in (1, 2, 3):
            token = {"progressToken": meta.get("progressToken")}
            tell("notifications/progress", {**token, "progress": step, "total": 3})
        tell("notifications/progress", {"progressToken": "not-yours", "progress": 1})
        ok(text("progressed"))
    elif name == "log":
        tell("notifications/message", {"level": "info", "logger": "inner", "data": "hello"})
        ok(text("logged"))
    elif name == "sample":
        ok(text(json.dumps(ask("sampling/createMessage", {"messages": [], "maxTokens": 5}))))
    elif name == "elicit":
        wanted = {"type": "object", "properties": {"name": {"type": "string"}}}
        asked_for = {"message": "Name?", "requestedSchema": wanted}
        ok(text(json.dumps(ask("elicitation/create", asked_for))))
    elif name == "sleep":
        end = time.time() + given["ms"] / 1000
        while time.time() < end and number not in cancelled:
            time.sleep(0.005)
        ok(text("slept"))
    elif name == "crash":
        sys.stderr.write("about to crash with key sk-0123456789abcdef\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "big":
        ok(text("x" * (given["kb"] * 1024)))
    elif name == "big_structured":
        items = [{"number": n, "text": "y" * 50} for n in range(given.get("items", 1000))]
        ok({"content": [], "structuredContent": {"items": items}})
    elif name == "rpc_error":
        error = {"code": -32042, "message": "a protocol error", "data": {"k": 1}}
        send({"jsonrpc": "2.0", "id": number, "error": error})
    elif name == "is_error":
        ok(text("it says no", isError=True))
    elif name == "bad_utf8":
        raw(
            b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\xff\xfez"}]}}'
            % number
        )
    elif name == "twice":
        ok(text("first"))
        ok(text("second"))
    elif name == "liar":
        ok(text(f"took {given}"))
    elif name == "add_tool":
        made = tool(f"zebra_{len(added)}", "Count the zebras in a field", TEXT)
        added.append(given.get("raw") or made)
        tell("notifications/tools/list_changed")
        ok(text("added"))
    elif name == "update":
        tell("notifications/resources/updated", {"uri": f"{NAME}://doc/1"})
        ok(text("announced"))
    elif name == "pid":
        ok(text(str(os.getpid())))
    elif name == "task":
        ok({"task": {"taskId": "1", "status": "working"}})
    elif name == "unauthorized":
        ok(text("401 Unauthorized", isError=True))
    elif name == "strays":
        for stray in (999_999, "x", None, number + 0.5, True):
            send({"jsonrpc": "2.0", "id": stray, "result": text("stray")})
        raw(b'"text"')
        raw(b"[1, null]")
        raw(b'{"jsonrpc":"2.0"}')
        raw(b"\x00\xff")
        ok(text("after the strays"))
    elif name == "drop_tools":
        added.clear()
        tell("notifications/tools/list_changed")
        ok(text("dropped"))
    elif name == "odd":
        ok(text(f"odd took {given}"))
    elif isinstance(name, str) and name.startswith("zebra_") and added:
        ok(text("three zebras"))
    elif name != "hang":
        error = {"code": -32602, "message": f"Unknown tool: {name}"}
        send({"jsonrpc": "2.0", "id": number, "error": error})


def answer(method, number, params):
    def ok(result):
        send({"jsonrpc": "2.0", "id": number, "result": result})

    if method == "initialize":
        if MODE == "slow":
            time.sleep(1.5)
        parts = {
            "tools": {"listChanged": True},
            "prompts": {},
            "resources": {"subscribe": True},
            "logging": {},
            "completions": {},
        }
        ok(
            {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": parts,
                "serverInfo": {"name": NAME, "version": "1"},
                "instructions": f"{NAME} says: echo first.",
            }
        )
    elif method == "tools/list":
        ok({"tools": TOOLS + added})
    elif method == "tools/call":
        threading.Thread(target=call, args=(number, params), daemon=True).start()
    elif method == "prompts/list":
        ok({"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]})
    elif method == "prompts/get":
        content = {"type": "text", "text": f"{NAME} greets {params['arguments']['who']}"}
        ok({"messages": [{"role": "user", "content": content}]})
    elif method == "resources/list":
        ok(
            {
                "resources": [
                    {"uri": f"{NAME}://doc/1", "name": "doc"},
                    {"uri": "shared://x", "name": "x"},
                ]
            }
        )
    elif method == "resources/templates/list" and MODE == "no-templates":
        error = {"code": -32601, "message": "no templates here"}
        send({"jsonrpc": "2.0", "id": number, "error": error})
    elif method == "resources/templates/list":
        ok({"resourceTemplates": [{"uriTemplate": NAME + "://item/{id}", "name": "item"}]})
    elif method == "resources/read":
        ok({"contents": [{"uri": params["uri"], "text": f"{NAME} has {params['uri']}"}]})
    elif method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"):
        ok({})
    elif method == "completion/complete":
        ok({"completion": {"values": [f"{NAME}-alice"]}})
    else:
        error = {"code": -32601, "message": f"Method not found: {method}"}
        send({"jsonrpc": "2.0", "id": number, "error": error})


def main():
    note(ev="start", pid=os.getpid(), env=sorted(os.environ))
    if MODE == "exit":
        sys.stderr.write("\x1b[31mprobe: no API key\x1b[0m\n")
        sys.exit(3)
    if MODE == "banner":
        print("Starting...\n\n{not json\n[1,2]", flush=True)
    if MODE == "family":
        child = "import time; time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
        subprocess.Popen([sys.executable, "-c", child])
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        note(ev="recv", method=method, id=number, params=message.get("params"))
        if MODE == "hang":
            continue
        if method is None:
            if number in asked:
                asked[number][1] = message.get("result", message.get("error"))
                asked[number][0].set()
        elif method == "notifications/cancelled":
            cancelled.add(message["params"].get("requestId"))
        elif method == "server/discover" and MODE == "no-discovery-dies":
            sys.exit(1)
        elif method == "server/discover" and MODE == "no-discovery-silent":
            continue
        elif number is not None:
            answer(method, number, message.get("params") or {})
            if MODE == "flood" and method == "tools/call":
                while True:
                    sys.stdout.write("this is no message\n" * 1000)
    if MODE in ("stubborn", "family"):
        time.sleep(600)


main()
