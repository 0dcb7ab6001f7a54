"""A stdio server with everything the MCP conformance suite asks for, in both eras; stdlib only.

SERVER_ERAS: both | legacy | modern. The names and texts are those of the suite's scenarios.
"""

import json
import os
import queue
import sys
import threading
import time

from conformance_content import (
    DEFAULTS,
    EMBEDDED,
    ENUMS,
    IMAGE,
    NAME,
    NEEDS,
    NEW_DIALECT,
    NEW_TOOLS,
    OLD_TOOLS,
    PLAIN_TOOLS,
    PROMPTS,
    RESOURCES,
    STATELESS,
    STRING,
    WANTS,
    form,
    question,
    schema,
    text,
)

ERAS = os.environ.get("SERVER_ERAS", "both")
MODERN = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PREFIX = "io.modelcontextprotocol/"
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
}
INFO = {"name": "conformance-server", "version": "1.0.0", "title": "Conformance"}
HINTS = {"ttlMs": 60000, "cacheScope": "public"}
REMOVED = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
STATE = "signed:2f1c:"
writing = threading.Lock()
asked: dict = {}
streams: dict = {}
late = {"tools": [], "prompts": []}


class RefusedError(Exception):
    """A protocol error."""

    def __init__(self, code, text, data=None):
        super().__init__(text)
        self.error = {"code": code, "message": text, **({"data": data} if data else {})}


def send(message):
    with writing:
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def tell(method, params=None):
    send({"jsonrpc": "2.0", "method": method, "params": params or {}})


def ask(method, params):
    """A request to the host (before 2026-07-28); its result."""
    number = len(asked) + 1
    asked[number] = queue.Queue()
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    answer = asked[number].get(timeout=20)
    if "error" in answer:
        raise RefusedError(-32603, f"The client refused: {answer['error']['message']}")
    return answer["result"]


class Request:
    """One request being answered."""

    def __init__(self, message, modern):
        self.id = message["id"]
        self.params = message.get("params") or {}
        self.meta = self.params.get("_meta") or {}
        self.modern = modern
        self.abilities = self.meta.get(PREFIX + "clientCapabilities") or {}

    def progress(self, token):
        for step in (0, 50, 100):
            about = {"progress": step, "total": 100, "message": f"Step {step}"}
            tell("notifications/progress", {"progressToken": token, **about})

    def log(self, *lines):
        if not self.modern or PREFIX + "logLevel" in self.meta:
            for line in lines:
                tell("notifications/message", {"level": "info", "data": line})
                time.sleep(0.02)

    def wanted(self, rounds, state):
        """Input still missing, as a result; None when all is there."""
        given = self.params.get("inputResponses")
        given = given if isinstance(given, dict) else {}
        held = self.params.get("requestState")
        if state and held is not None and held not in [f"{STATE}{n}" for n in range(3)]:
            raise RefusedError(-32602, "requestState was not made here")
        step = int(held[-1]) if state and held else 0
        if step < len(rounds) and all(self._usable(given.get(key)) for key in rounds[step]):
            step += 1
        if step >= len(rounds):
            return None
        asks = {
            key: one
            for key, one in rounds[step].items()
            if NEEDS.get(one["method"], "roots") in self.abilities
        }
        more = {"requestState": f"{STATE}{step}"} if state else {}
        return {"resultType": "input_required", "inputRequests": asks, **more}

    @staticmethod
    def _usable(value):
        return isinstance(value, dict) and bool(value.keys() & {"action", "content", "roots"})


def tool_names(modern):
    return [*PLAIN_TOOLS, "test_tool_with_progress", *(NEW_TOOLS if modern else OLD_TOOLS)]


def listed_tools(_request):
    def one(name):
        made = schema()
        if name == "json_schema_2020_12_tool":
            made = NEW_DIALECT
        elif name in ("test_sampling", "test_elicitation"):
            key = "prompt" if name == "test_sampling" else "message"
            made = schema({key: STRING}, [key])
        return {
            "name": name,
            "title": name.replace("_", " "),
            "description": f"Of the conformance suite: {name}",
            "inputSchema": made,
            "_meta": {"example/kind": "test"},
        }

    names = dict.fromkeys(
        [
            *(tool_names(False) if ERAS != "modern" else []),
            *(tool_names(True) if ERAS != "legacy" else []),
            *late["tools"],
        ]
    )
    return {"tools": [one(name) for name in names]}


def call_tool(request):
    name, given = request.params.get("name"), request.params.get("arguments") or {}
    if name in PLAIN_TOOLS:
        return PLAIN_TOOLS[name]
    if name in late["tools"]:
        return text("late")
    if name == "test_tool_with_progress":
        token = request.meta.get("progressToken", 0)
        request.progress(token)
        return text(str(token))
    if request.modern and name in WANTS:
        wanted = request.wanted(WANTS[name], name not in STATELESS)
        return wanted or text("state-ok: " + json.dumps(request.params.get("inputResponses")))
    if name == "test_missing_capability":
        if "sampling" not in request.abilities:
            needs = {"requiredCapabilities": {"sampling": {}}}
            raise RefusedError(-32021, "Missing required client capability", needs)
        return text("sampled")
    if name == "test_streaming_elicitation":
        return request.wanted([{"user_name": NAME}], False) or text("streamed")
    if name in ("test_logging_tool", "test_tool_with_logging"):
        request.log("Tool execution started", "Tool processing data", "Tool execution completed")
        return text("logged")
    if name in ("test_trigger_tool_change", "test_trigger_prompt_change"):
        kind = "tools" if "tool_change" in name else "prompts"
        late[kind].append(f"late_{kind[:-1]}_{len(late[kind])}")
        changed(kind)
        return text("changed")
    return call_older(name, given)


def call_older(name, given):
    """Tools that ask the host by requests."""
    if name == "test_sampling":
        asks = question(given["prompt"])
        answer = ask(asks["method"], asks["params"])
        return text(f"LLM response: {answer['content'].get('text', '')}")
    forms = {
        "test_elicitation": form(given.get("message", ""), {"response": STRING}, ["response"]),
        "test_elicitation_sep1034_defaults": form("Please review", DEFAULTS),
        "test_elicitation_sep1330_enums": form("Please select", ENUMS),
    }
    if name not in forms:
        raise RefusedError(-32602, f"Unknown tool: {name}")
    answer = ask("elicitation/create", forms[name]["params"])
    said = f"action={answer['action']}, content={json.dumps(answer.get('content', {}))}"
    return text(f"Elicitation completed: {said}")


def changed(kind):
    method = f"notifications/{kind}/list_changed"
    if ERAS != "modern" and not streams:
        tell(method)
    for number, wanted in list(streams.items()):
        if wanted.get(f"{kind}ListChanged"):
            tell(method, {"_meta": {PREFIX + "subscriptionId": number}})


def list_prompts(_request):
    names = {**PROMPTS, **dict.fromkeys(late["prompts"], ())}
    return {
        "prompts": [
            {
                "name": name,
                "description": name,
                "arguments": [{"name": a, "description": a, "required": True} for a in arguments],
            }
            for name, arguments in names.items()
        ]
    }


def get_prompt(request):
    name, given = request.params.get("name"), request.params.get("arguments") or {}
    if name not in PROMPTS:
        raise RefusedError(-32602, f"Unknown prompt: {name}")
    said = [{"type": "text", "text": "This is a simple prompt for testing."}]
    if name == "test_prompt_with_arguments":
        said = [{"type": "text", "text": f"arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"}]
    elif name == "test_prompt_with_embedded_resource":
        embedded = {**EMBEDDED, "uri": given.get("resourceUri", "")}
        said = [{"type": "resource", "resource": embedded}, *said]
    elif name == "test_prompt_with_image":
        said = [IMAGE, *said]
    elif name == "test_input_required_result_prompt" and request.modern:
        asks = form("What context should the prompt use?", {"context": STRING}, ["context"])
        wanted = request.wanted([{"user_context": asks}], False)
        if wanted:
            return wanted
    return {"messages": [{"role": "user", "content": one} for one in said]}


def list_resources(_request):
    found = [
        {"uri": uri, "name": uri.partition("//")[2], "mimeType": body["mimeType"]}
        for uri, body in RESOURCES.items()
    ]
    return {"resources": found}


def list_templates(_request):
    one = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "By id"}
    return {"resourceTemplates": [{**one, "mimeType": "application/json"}]}


def read_resource(request):
    uri = str(request.params.get("uri"))
    parts = uri.split("/")
    if uri in RESOURCES:
        return {"contents": [{"uri": uri, **RESOURCES[uri]}]}
    if uri.startswith("test://template/") and parts[-1] == "data":
        body = json.dumps({"id": parts[-2], "templateTest": True, "data": f"Data: {parts[-2]}"})
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": body}]}
    raise RefusedError(-32602 if request.modern else -32002, "Resource not found", {"uri": uri})


def initialize(request):
    wanted = request.params.get("protocolVersion")
    version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
    able = {**CAPABILITIES, "logging": {}}
    return {"protocolVersion": version, "capabilities": able, "serverInfo": INFO}


def discover(_request):
    versions = [MODERN] if ERAS == "modern" else [MODERN, *reversed(HANDSHAKE)]
    able = {**CAPABILITIES, "logging": {}}
    return {
        "supportedVersions": versions,
        "capabilities": able,
        "_meta": {PREFIX + "serverInfo": INFO},
    }


METHODS = {
    "tools/list": listed_tools,
    "tools/call": call_tool,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "completion/complete": lambda _r: {"completion": {"values": [], "total": 0, "hasMore": False}},
    "server/discover": discover,
    "initialize": initialize,
    **dict.fromkeys(REMOVED[1:], lambda _request: {}),
}


def checked(method, params):
    """Whether a request is of the stateless revision; raises Refused."""
    meta = params.get("_meta") or {}
    version = meta.get(PREFIX + "protocolVersion")
    modern = version is not None or method in ("server/discover", "subscriptions/listen")
    if modern and ERAS == "legacy":
        raise RefusedError(-32601, f"Method not found: {method}")
    if not modern:
        if ERAS == "modern":
            data = {"supported": [MODERN], "requested": str(params.get("protocolVersion"))}
            raise RefusedError(-32022, "Unsupported protocol version", data)
        return False
    if version is None or not isinstance(meta.get(PREFIX + "clientCapabilities"), dict):
        raise RefusedError(-32602, "Invalid params: _meta lacks what the revision requires")
    if version != MODERN:
        data = {"supported": [MODERN], "requested": version}
        raise RefusedError(-32022, "Unsupported protocol version", data)
    if method in REMOVED:
        raise RefusedError(-32601, f"Method not found: {method}")
    return True


def answer(message):
    method, params = message["method"], message.get("params") or {}
    try:
        modern = checked(method, params)
        if method == "subscriptions/listen":
            streams[message["id"]] = wanted = params.get("notifications") or {}
            meta = {PREFIX + "subscriptionId": message["id"]}
            said = {"notifications": wanted, "_meta": meta}
            tell("notifications/subscriptions/acknowledged", said)
            return
        if method not in METHODS:
            raise RefusedError(-32601, f"Method not found: {method}")
        result = METHODS[method](Request(message, modern))
    except RefusedError as refused:
        send({"jsonrpc": "2.0", "id": message["id"], "error": refused.error})
        return
    if modern:
        hints = HINTS if method.endswith(("/list", "/discover", "/read")) else {}
        result = {"resultType": "complete", **hints, **result}
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        if message.get("id") in asked:
            asked[message["id"]].put(message)
    elif message["method"] == "notifications/cancelled":
        streams.pop(message["params"].get("requestId"), None)
    elif "id" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
