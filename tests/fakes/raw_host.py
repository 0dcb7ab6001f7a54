"""A host as the gateway sees it: raw lines on pipes, every message kept, waits that end."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

import psutil

Json = dict[str, Any]
MODERN = "2026-07-28"


class RpcError(Exception):
    """The answer was an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(json.dumps(error))
        self.code = error.get("code")
        self.message = error.get("message", "")
        self.data = error.get("data")


class RawHost:
    """Starts a command and speaks JSON-RPC with it; `answers` are given to its requests.

    One that is None is never given.
    """

    def __init__(
        self,
        command: list[str],
        env: dict[str, str],
        answers: dict[str, Any] | None = None,
        *,
        stderr: IO[bytes] | None = None,
        reads: bool = True,  # else it reads nothing before `read`
    ) -> None:
        whole = {**os.environ, **env}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        self.process = subprocess.Popen(command, env=whole, **pipes)
        self.answers = answers or {}
        self.notes: list[Json] = []
        self.asked: list[Json] = []
        self.unsolicited: list[Json] = []
        self.lines: list[bytes] = []
        self._count = 0
        self._asking = threading.Lock()
        self._answers: dict[Any, queue.Queue[Json]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reads:
            self.read()

    def read(self) -> None:
        """Begin to read."""
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            if len(line) < 100_000:
                self.lines.append(line)
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.asked.append(message)
                self._answer(message)
            elif "method" in message:
                self.notes.append(message)
            elif message.get("id") in self._answers:
                self._answers[message["id"]].put(message)
            else:
                self.unsolicited.append(message)

    def _answer(self, message: Json) -> None:
        if message["method"] not in self.answers:
            error = {"code": -32601, "message": "unsupported"}
            self._reply({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        result = self.answers[message["method"]]
        result = result(message) if callable(result) else result
        if result is None:
            return
        self._reply({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _reply(self, message: Json) -> None:
        """Answer a question, unless the test has closed this host meanwhile."""
        with contextlib.suppress(ValueError, BrokenPipeError):
            self.send(message)

    def send(self, message: Json) -> None:
        self.send_raw(json.dumps(message).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def ask(self, method: str, params: Json | None = None) -> Any:
        """Send a request; its id."""
        with self._asking:
            self._count += 1
            number = self._count
            self._answers[number] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return number

    def wait(self, number: Any, seconds: float = 30) -> Json:
        """The whole answer to a request."""
        return self._answers[number].get(timeout=seconds)

    def answered(self, number: Any) -> bool:
        return not self._answers[number].empty()

    def request(self, method: str, params: Json | None = None, seconds: float = 30) -> Json:
        answer = self.wait(self.ask(method, params), seconds)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def initialize(self, capabilities: Json | None = None, version: str = "2025-11-25") -> Json:
        given = {"roots": {}, "sampling": {}, "elicitation": {}}
        result = self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": given if capabilities is None else capabilities,
                "clientInfo": {"name": "raw-host", "version": "1"},
            },
        )
        self.notify("notifications/initialized")
        return result

    def tools(self) -> list[Json]:
        return self.request("tools/list")["tools"]

    def call(self, name: str, arguments: Json | None = None, **more: Any) -> Json:
        return self.request("tools/call", {"name": name, "arguments": arguments or {}, **more})

    def run(self, tool: str, arguments: Json | None = None, **more: Any) -> Json:
        """call_tool."""
        return self.call("call_tool", {"name": tool, "arguments": arguments or {}, **more})

    def search(self, query: str, **more: Any) -> str:
        return text(self.call("search_tools", {"query": query, **more}))

    def modern(self, method: str, params: Json | None = None, **meta: Any) -> Json:
        """A stateless request."""
        envelope = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw-host", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}},
            **((params or {}).get("_meta") or {}),
            **meta,
        }
        return self.request(method, {**(params or {}), "_meta": envelope})

    def until(self, what: Callable[[], Any], seconds: float = 15) -> Any:
        """Wait until something is true; what it came to."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = what()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("it did not happen in time")

    def noted(self, method: str) -> list[Json]:
        return [note for note in self.notes if note["method"] == method]

    def tree(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def close(self, seconds: float = 10) -> float:
        """Close stdin as a host does; seconds until the gateway was gone."""
        began = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self._reader.ident is not None:
                self._reader.join(5)
            self.process.stdout.close()
        return time.monotonic() - began


def text(result: Json) -> str:
    """All texts of a result."""
    return "\n".join(c.get("text", "") for c in result.get("content", []))


def gateway_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "app.gateway.main", *args]
