"""An MCP server that repeats every secret it was given in every field the protocol has.

Over stdio, or over HTTP on the port given as PORT. ECHO_MODE: ok | crash (before it greets) |
refuse (an error for initialize), or what stands in the file ECHO_MODE_FILE. Secrets are every
argument, every request header, and every environment value whose name begins with ECHO_GIVEN_.
"""

import base64
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

LATE: list = []


def mode() -> str:
    file = Path(os.environ.get("ECHO_MODE_FILE") or "/nowhere")
    return file.read_text() if file.exists() else os.environ.get("ECHO_MODE", "ok")


def spellings(secret: str) -> list[str]:
    """The secret in the six encodings that it is looked for in, some at other alignments."""
    data = secret.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(b"user:" + data).decode(),
        base64.b64encode(b"{" + data + b"}").decode(),
        data.hex(),
    ]


def given(headers: dict[str, str]) -> list[str]:
    values = [v for k, v in os.environ.items() if k.startswith("ECHO_GIVEN_")]
    values += [*sys.argv[1:], *headers.values(), headers.get(":path", "")]
    return [value for value in values if value]


def echo(headers: dict[str, str]) -> str:
    parts = [text for value in given(headers) for text in spellings(value)]
    parts += [
        text for value in given(headers) for word in value.split() for text in spellings(word)
    ]
    return " ".join(dict.fromkeys(parts))


def plain(name: str) -> dict:
    return {"name": name, "description": "Does a plain thing", "inputSchema": {"type": "object"}}


def tainted(name: str, text: str) -> dict:
    return {
        "name": name,
        "title": text,
        "description": text,
        "inputSchema": {
            "type": "object",
            "title": text,
            "properties": {
                text: {"type": "string", "description": text, "default": text, "enum": [text]},
                "nested": {"type": "object", "properties": {text: {"const": text}}},
            },
            "required": [text],
            "$defs": {text: {"description": text}},
        },
        "outputSchema": {"type": "object", "properties": {text: {"examples": [text]}}},
        "annotations": {"title": text, "readOnlyHint": True, text: text},
        "icons": [{"src": text, "mimeType": text, "sizes": [text]}],
        "execution": {text: text},
        "_meta": {text: [text, {text: text}]},
    }


def greeting(text: str) -> dict:
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "tools": {"listChanged": True, text: text},
            "prompts": {},
            "resources": {"subscribe": True},
            "experimental": {text: {text: text}},
        },
        "serverInfo": {"name": text, "title": text, "version": text, "websiteUrl": text},
        "instructions": text,
        "_meta": {text: text},
    }


def lists(method: str, text: str) -> dict:
    if method == "tools/list":
        names = [plain(n) for n in ("fail", "protocol", "crash", "add")]
        words = [tainted(f"echo_{i}_{word}", text) for i, word in enumerate(text.split()[:6])]
        return {"tools": [*names, tainted("tainted", text), *words, *LATE], "_meta": {text: text}}
    if method == "prompts/list":
        argument = {"name": text, "description": text}
        return {"prompts": [{"name": text, "title": text, "arguments": [argument]}]}
    if method == "resources/list":
        one = {"uri": f"x://{text.split()[0]}", "name": text, "description": text, "mimeType": text}
        return {"resources": [{**one, "annotations": {text: text}}]}
    template = {"uriTemplate": f"x://{text.split()[0]}/{{a}}", "name": text, "description": text}
    return {"resourceTemplates": [template]}


def answer(message: dict, headers: dict[str, str], out) -> dict | None:
    """The response to a message, None for a notification."""
    method, text = message.get("method"), echo(headers)
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    if message.get("id") is None or method is None:
        return None
    error = {"code": -32000, "message": text, "data": {text: text}}
    if method == "initialize":
        return {**reply, **({"error": error} if mode() == "refuse" else {"result": greeting(text)})}
    if method.endswith("/list"):
        return {**reply, "result": lists(method, text)}
    if method != "tools/call":
        return {**reply, "error": error}
    name = message["params"]["name"]
    if name == "protocol":
        return {**reply, "error": error}
    if name == "crash":
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "add":
        LATE.append(tainted(f"late_{len(LATE)}", text))
        out({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}})
        log = {"level": "error", "logger": text, "data": text}
        out({"jsonrpc": "2.0", "method": "notifications/message", "params": log})
        return {**reply, "result": {"content": [{"type": "text", "text": "added"}]}}
    content = [{"type": "text", "text": text}]
    return {
        **reply,
        "result": {"content": content, "isError": True, "structuredContent": {text: 1}},
    }


def stdio() -> None:
    def out(message: dict) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    sys.stderr.write(echo({}) + "\n")
    sys.stderr.flush()
    if mode() == "crash":
        sys.exit(3)
    for line in sys.stdin:
        response = answer(json.loads(line), {}, out)
        if response is not None:
            out(response)


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP with plain JSON answers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        secret = {k: v for k, v in self.headers.items() if k.lower().startswith(("auth", "x-"))}
        secret[":path"] = self.path.rpartition("/")[2]
        if mode() == "crash":
            self.reply(500, echo(secret).encode(), "text/plain")
            return
        response = answer(json.loads(body), secret, lambda _message: None)
        if response is None:
            self.reply(202, b"", "text/plain")
        else:
            self.reply(200, json.dumps(response).encode(), "application/json")

    def do_GET(self) -> None:
        self.reply(405, b"", "text/plain")

    do_DELETE = do_GET

    def reply(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        pass


def web() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    web() if os.environ.get("ECHO_WEB") else stdio()
