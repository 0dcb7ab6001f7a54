"""A real stdio MCP server, stdlib only, that can misbehave in every way seen or feared.

FAKE_MODE is a comma list of words, some with a value (`tools=5`); FAKE_TOOLS may hold raw tools as
JSON; FAKE_LOG names a file that gets one line for every message received.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MODES = {
    word.partition("=")[0]: word.partition("=")[2]
    for word in os.environ.get("FAKE_MODE", "").split(",")
    if word
}
LISTED = [0]


def on(mode: str) -> bool:
    return mode in MODES


def number(mode: str, default: float) -> float:
    return float(MODES.get(mode) or default)


def tool(name: str, description: str = "Does a thing", **schema: Any) -> Json:
    properties = {"text": {"type": "string", "description": "what to say"}}
    schema = schema or {"type": "object", "properties": properties, "required": ["text"]}
    return {"name": name, "description": description, "inputSchema": schema}


MIXED = [
    tool("good_one", "Adds a comment to an issue"),
    tool("no_type", **{"$schema": "http://json-schema.org/draft-07/schema#"}),
    tool("root_any_of", type="object", anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
    tool("bad_type", type="array", items={}),
    tool("bad_schema", type="object", properties={"a": {"type": "no-such-type"}}),
    tool("dangling_ref", type="object", properties={"a": {"$ref": "#/$defs/none"}}),
    {"name": "schema_is_text", "inputSchema": "oops"},
    {"name": "no_schema", "description": "has none"},
    {"description": "has no name", "inputSchema": {"type": "object"}},
    {"name": 7, "inputSchema": {"type": "object"}},
    "not an object",
    None,
    tool("twin", "the first"),
    tool("twin", "the second"),
    {**tool("extra_fields"), "x-vendor": {"a": 1}, "_meta": {"b": 2}, "execution": {"c": 3}},
    tool("", "empty name"),
    tool("last_one", "Searches the archive"),
]


def tools() -> list[Any]:
    if "FAKE_TOOLS" in os.environ:
        return list(json.loads(os.environ["FAKE_TOOLS"]))
    if on("mixed"):
        return MIXED
    found = [tool(f"tool_{i}", f"Does thing number {i}") for i in range(int(number("tools", 3)))]
    if on("huge-tool"):
        found.append(tool("huge", "x" * 700_000))
    if on("giant-tool"):
        found.append(tool("giant", "x" * 3_000_000))
    if on("surrogate"):
        found.append(tool("surrogate", "half a pair: \ud83d"))
    if on("needs-sampling") and CLIENT.get("sampling") is not None:
        found.append(tool("sampled"))
    if on("changing"):
        found = found[: 1 + LISTED[0] % 2]
    if on("announces") and LISTED[0] == 1:
        found = found[:1]
    return found


CLIENT: Json = {}
PENDING: list[Json] = []


def send(message: Any) -> None:
    raw(json.dumps(message))


def raw(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(message: Json, result: Any) -> None:
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    send([reply] if on("batch") else reply)
    if on("twice"):
        send(reply)


def refuse(message: Json, code: int, text: str, data: Any = None) -> None:
    error = {"code": code, "message": text, **({"data": data} if data is not None else {})}
    send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def notify(method: str, **params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def escape() -> None:
    """Start children that leave the group, the session and the environment behind."""
    code = "import time; time.sleep(120)"
    options: Json = {"stdin": subprocess.DEVNULL, "start_new_session": True}
    if not on("escape-loud"):
        options["stdout"] = options["stderr"] = subprocess.DEVNULL
    marked = subprocess.Popen([sys.executable, "-c", code], **options)
    bare = subprocess.Popen([sys.executable, "-c", code], env={}, **options)
    Path(os.environ["FAKE_PIDS"]).write_text(f"{marked.pid} {bare.pid}", encoding="utf-8")
    marked.returncode = bare.returncode = 0  # no warning about children that still run


def before() -> None:
    if on("banner"):
        sys.stderr.write("\x1b[31m" + "=" * 25_000 + "\x1b[0m\n")
    if on("secret-banner"):
        sys.stderr.write(f"using key {os.environ['API_KEY']}\n")
    if on("long-line"):
        sys.stderr.write(os.environ["API_KEY"] + "x" * 16_375 + "\n")
    if on("exit-early"):
        sys.stderr.write(f"\x1b[31mfatal: bad key {os.environ.get('API_KEY', '')}\x1b[0m\n\n")
        sys.exit(3)
    if on("killed"):
        os.kill(os.getpid(), 9)
    if on("ignore-close"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if on("escape") or on("escape-loud"):
        escape()
    if on("junk"):
        raw("Starting server v1.0 ...\n\n[info] listening\n{not json}")
    if on("flood-junk"):
        for _ in range(20_000):
            sys.stdout.write("junk junk junk junk junk junk junk junk\n")
    if on("flood-notes"):
        for i in range(20_000):
            notify("notifications/message", level="info", data=f"note {i}")
    if on("early-log"):
        notify("notifications/message", level="info", data="before initialize")
    if on("flood-stderr"):
        for _ in range(3_000):
            sys.stderr.write("e" * 1000 + "\n")
    if on("endless-line"):
        for _ in range(60):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.flush()


def initialize(message: Json) -> None:
    if on("hang-init"):
        time.sleep(number("hang-init", 120))
    if on("busy-init"):
        end = time.process_time() + number("busy-init", 1)
        while time.process_time() < end:
            pass
    if on("modern-dies"):
        sys.exit(1)
    if on("modern"):
        refuse(message, -32022, "Unsupported protocol version", {"supported": ["2026-07-28"]})
        return
    if on("init-error"):
        refuse(message, -32603, f"no account for {os.environ.get('API_KEY', '')}")
        return
    params = message.get("params") or {}
    CLIENT.update(params.get("capabilities") or {})
    if on("odd-init"):
        answer(message, {"protocolVersion": "1999-01-01", "capabilities": None})
        return
    answer(
        message,
        {
            "protocolVersion": params.get("protocolVersion"),
            "serverInfo": {"name": "fake", "version": "1.0"},
            "capabilities": capabilities(),
            "instructions": "Call tool_0 first.",
        },
    )


def capabilities() -> Json:
    found: Json = {"tools": {"listChanged": True}}
    if on("no-tools"):
        found = {}
    if on("extras") or on("bad-extras") or on("hang-extras") or on("exit-extras"):
        found |= {"prompts": {}, "resources": {"subscribe": True}}
    return found


def list_tools(message: Json) -> None:
    LISTED[0] += 1
    if on("hang-list"):
        time.sleep(number("hang-list", 120))
    if on("exit-list"):
        sys.stderr.write("Traceback: list failed\n")
        sys.exit(5)
    if on("list-error"):
        refuse(message, -32000, "Unauthorized: set GITHUB_TOKEN")
        return
    if on("telemetry"):
        (Path.home() / ".fake-telemetry").write_text("id", encoding="utf-8")
    if on("announces") and LISTED[0] == 1:
        notify("notifications/tools/list_changed")
    if on("roots-first") and not PENDING:
        PENDING.append(message)
        send({"jsonrpc": "2.0", "id": "ask-1", "method": "roots/list"})
        return
    if on("junk"):
        raw("[debug] listing\n}{")
    start = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":'
    if on("big-line"):
        raw(start + '{"tools":["' + "x" * 50_000_000 + '"]}}')
        return
    if on("deep"):
        raw(start + "[" * 5000 + "]" * 5000 + "}")
        return
    if on("bad-utf8"):
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools()}})
        data = text.encode().replace(b"thing number 0", b"thing \xff\xfe number 0")
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()
        return
    answer(message, page((message.get("params") or {}).get("cursor")))
    if on("junk"):
        raw("[debug] listed")


def page(cursor: Any) -> Any:
    if on("not-a-list"):
        return {"tools": {"a": 1}}
    if on("null-result"):
        return {"nothing": True}
    if on("loop"):
        return {"tools": [tool("looped")], "nextCursor": "again"}
    if on("endless"):
        index = int(cursor or 0)
        return {"tools": [tool(f"t{index}_{i}") for i in range(50)], "nextCursor": str(index + 1)}
    if on("pages"):
        index, size = int(cursor or 0), 4
        found = tools()[index * size : (index + 1) * size]
        more = (index + 1) * size < len(tools())
        return {"tools": found, **({"nextCursor": str(index + 1)} if more else {})}
    return {"tools": tools()}


def extra(message: Json, method: str) -> None:
    if on("hang-extras"):
        return
    if on("exit-extras"):
        sys.exit(1)
    if on("bad-extras"):
        refuse(message, -32603, "resources are not ready")
        return
    answer(
        message,
        {
            "prompts/list": {"prompts": [{"name": "greet"}]},
            "resources/list": {"resources": [{"uri": "fake://1", "name": "one"}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "fake://{id}"}]},
        }[method],
    )


def discover(message: Json) -> None:
    meta = (message.get("params") or {}).get("_meta") or {}
    if meta.get("io.modelcontextprotocol/protocolVersion") != "2026-07-28":
        refuse(message, -32602, "no protocol version")
        return
    answer(
        message,
        {
            "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities(),
            "instructions": "Modern only.",
            "resultType": "complete",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2.0"}},
        },
    )


def call(message: Json) -> None:
    params = message.get("params") or {}
    text = json.dumps({"tool": params.get("name"), "arguments": params.get("arguments")})
    answer(message, {"content": [{"type": "text", "text": text}]})


def unknown(message: Json) -> None:
    if on("die-unknown"):
        sys.exit(1)
    if not on("ignore-unknown"):
        code = -32602 if on("unknown-32602") else -32601
        refuse(message, code, f"Method not found: {message.get('method')}")


def handle(message: Json) -> None:
    method = message.get("method")
    if method is None:
        if PENDING and message.get("id") == "ask-1":
            answer(PENDING[0], page(None))
    elif method == "initialize":
        initialize(message)
    elif method == "server/discover" and (on("modern") or on("modern-dies")):
        discover(message)
    elif method == "tools/list":
        list_tools(message)
    elif method == "tools/call":
        call(message)
    elif method in ("prompts/list", "resources/list", "resources/templates/list"):
        extra(message, method) if "id" in message else None
    elif method == "ping":
        answer(message, {})
    elif "id" in message:
        unknown(message)


def main() -> None:
    before()
    for line in sys.stdin:
        if not line.strip():
            continue
        if "FAKE_LOG" in os.environ:
            with Path(os.environ["FAKE_LOG"]).open("a", encoding="utf-8") as file:
                file.write(line)
        handle(json.loads(line))
    if on("junk"):
        raw("bye")
    if on("ignore-close"):
        time.sleep(120)
    sys.exit(int(number("exit-code", 0)))


if __name__ == "__main__":
    main()
