"""Puts a stdio server behind streamable HTTP, for judges that speak nothing else; stdlib only.

conformance_bridge.py COMMAND ARGS...: prints the port it listens on. A session has a process of its
own; all stateless requests (2026-07-28) share one, under ids that the bridge makes unique.
"""

import contextlib
import json
import os
import queue
import select
import socket
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
STATUS = {-32022: 400, -32021: 400, -32020: 400, -32602: 400, -32601: 404}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
MOST_SESSIONS = 3
LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Child:
    """One process, and who waits for which of its messages."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting = {}  # id at the child -> (queue, the client's id)
        self.unasked = queue.Queue()  # for the stream that a GET opened
        self.count = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        with self.lock, contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, message):
        """Send a request; its id at the child and the queue of what belongs to it."""
        found = queue.Queue()
        with self.lock:
            self.count += 1
            number = self.count
            self.waiting[number] = (found, message)
        self.send({**message, "id": number})
        return number, found

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self.to_whom(message).put(self.renamed(message))
                continue
            found, asked = self.waiting.pop(message.get("id"), (None, None))
            if found is not None:
                found.put({**message, "id": asked["id"]})
        for found, _ in list(self.waiting.values()):
            found.put(None)

    def to_whom(self, message):
        """The request that a message belongs to, else the latest, else the GET stream."""
        params = message.get("params") or {}
        stream = (params.get("_meta") or {}).get(PREFIX + "subscriptionId")
        if stream in self.waiting:
            return self.waiting[stream][0]
        calls = [
            pair for pair in self.waiting.values() if pair[1]["method"] != "subscriptions/listen"
        ]
        token = params.get("progressToken")
        for found, asked in calls:
            meta = (asked.get("params") or {}).get("_meta") or {}
            if token is not None and meta.get("progressToken") == token:
                return found
        return calls[-1][0] if calls else self.unasked

    def renamed(self, message):
        """A stream's notification with the client's id of the stream."""
        meta = (message.get("params") or {}).get("_meta") or {}
        stream = meta.get(PREFIX + "subscriptionId")
        if stream not in self.waiting:
            return message
        own = {**meta, PREFIX + "subscriptionId": self.waiting[stream][1]["id"]}
        return {**message, "params": {**message["params"], "_meta": own}}

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Bridge(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, command):
        super().__init__(("127.0.0.1", 0), Handler)
        self.command = command
        self.sessions = {}
        self.shared = None
        self.starting = threading.Lock()

    def stateless(self):
        with self.starting:
            if self.shared is None or self.shared.process.poll() is not None:
                self.shared = Child(self.command)
            return self.shared

    def remember(self, key, child):
        """Keep a session; judges leave theirs open, so old ones are ended."""
        self.sessions[key] = child
        while len(self.sessions) > MOST_SESSIONS:
            old = self.sessions.pop(next(iter(self.sessions)))
            threading.Thread(target=old.close, daemon=True).start()

    def close(self):
        for child in [*self.sessions.values(), *([self.shared] if self.shared else [])]:
            child.close()


class Handler(BaseHTTPRequestHandler):
    server: Bridge

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.local():
            return
        meta = (body.get("params") or {}).get("_meta") or {} if isinstance(body, dict) else {}
        version = self.headers.get("MCP-Protocol-Version", "")
        if PREFIX + "protocolVersion" in meta or version == MODERN:
            self.stateless(body, meta)
            return
        child = self.server.sessions.get(self.headers.get("Mcp-Session-Id"))
        more = {}
        if child is None and "Mcp-Session-Id" in self.headers:
            self.fail(404, -32001, "Session not found")
            return
        if child is None and body.get("method") == "initialize":
            child, key = Child(self.server.command), uuid.uuid4().hex
            self.server.remember(key, child)
            more = {"Mcp-Session-Id": key}
        if child is None:
            self.fail(400, -32000, "No session")
        elif "id" in body and "method" in body:
            self.stream(child, *child.ask(body), more)
        else:
            child.send(body)
            self.begin(202, {"Content-Length": "0"})

    def stateless(self, body, meta):
        method, params = body.get("method"), body.get("params") or {}
        wanted = {
            "MCP-Protocol-Version": meta.get(PREFIX + "protocolVersion"),
            "Mcp-Method": method,
        }
        if method in NAMED:
            wanted["Mcp-Name"] = params.get(NAMED[method])
        if "id" not in body:
            self.server.stateless().send(body)
            self.begin(202, {"Content-Length": "0"})
            return
        for name, value in wanted.items():
            if value is not None and self.headers.get(name) != str(value):
                self.fail(400, -32020, f"Header mismatch: {name}", body["id"])
                return
        child = self.server.stateless()
        number, found = child.ask(body)
        self.stream(child, number, found, {}, stateless=True)

    def stream(self, child, number, found, more, *, stateless=False):
        """Everything that belongs to a request as an event stream, until its answer."""
        begun = False
        while not self.left(found):
            message = found.get()
            if message is None:
                break
            code = (message.get("error") or {}).get("code")
            if not begun:
                status = STATUS.get(code, 200) if stateless else 200
                kind = "application/json" if status != 200 else "text/event-stream"
                self.begin(status, {"Content-Type": kind, **more})
                begun = True
                if status != 200:
                    self.wfile.write(json.dumps(message).encode())
                    return
            self.event(message)
            if "method" not in message:
                return
        child.waiting.pop(number, None)
        child.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        )

    def do_GET(self):
        child = self.server.sessions.get(self.headers.get("Mcp-Session-Id"))
        if child is None or not self.local():
            self.fail(405, -32000, "No stream")
            return
        self.begin(200, {"Content-Type": "text/event-stream"})
        while not self.left(child.unasked):
            self.event(child.unasked.get())

    def do_DELETE(self):
        child = self.server.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if child is None:
            self.fail(404, -32001, "Session not found")
            return
        child.close()
        self.begin(200, {"Content-Length": "0"})

    def left(self, found):
        """Wait for a message; whether the client went away first."""
        while found.empty():
            if select.select([self.connection], [], [], 0.01)[0]:
                try:
                    return not self.connection.recv(1, socket.MSG_PEEK)
                except OSError:
                    return True
        return False

    def event(self, message):
        with contextlib.suppress(OSError):
            self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
            self.wfile.flush()

    def local(self):
        """Whether Host and Origin are this machine's (DNS rebinding)."""
        origin = self.headers.get("Origin", "").partition("//")[2]
        names = [
            one.rpartition(":")[0] or one for one in (self.headers.get("Host", ""), origin) if one
        ]
        if all(name in LOCAL for name in names):
            return True
        self.fail(403, -32000, "Forbidden")
        return False

    def begin(self, status, headers):
        self.close_connection = True
        self.send_response(status)
        for name, value in {**headers, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def fail(self, status, code, text, number=None):
        self.begin(status, {"Content-Type": "application/json"})
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
        with contextlib.suppress(OSError):
            self.wfile.write(json.dumps(error).encode())


def main():
    bridge = Bridge(sys.argv[1:])
    threading.Thread(target=bridge.serve_forever, daemon=True).start()
    print(bridge.server_address[1], flush=True)
    sys.stdin.read()  # until whoever started us closes it
    bridge.close()
    os._exit(0)


if __name__ == "__main__":
    main()
