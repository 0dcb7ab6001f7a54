"""The user's own trust step in Codex, done as its own window does it: look at the hook, say yes."""

import json
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.real import RealHost
from judge.trial import LIMIT, environment, program

_SETTING = "hooks.state"


class CodexWindow:
    """`codex app-server`: what Codex's own surfaces speak to."""

    def __init__(self, host: RealHost, home: Path, environ: Mapping[str, str]) -> None:
        node = shutil.which("node") or "node"
        (home / "project").mkdir(exist_ok=True)
        (home / "tmp").mkdir(exist_ok=True)
        self._folder = str(home / "project")
        self._process = subprocess.Popen(
            [node, str(program(host)), "app-server"],
            cwd=self._folder,
            env=environment(home) | dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._limit = threading.Timer(LIMIT, self._process.kill)
        self._number = 0

    def __enter__(self) -> "CodexWindow":
        self._limit.start()
        info = {"name": "toolcrib-tests", "title": "tests", "version": "1"}
        self._request("initialize", {"clientInfo": info})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)
        self._process.stdout.close()
        self._limit.cancel()
        self._limit.join()

    def hooks(self) -> list[dict[str, Any]]:
        """The hooks that Codex knows, with what it says of each."""
        answer = self._request("hooks/list", {"cwds": [self._folder]})
        return [hook for entry in answer["data"] for hook in entry["hooks"]]

    def trust(self, hook: Mapping[str, Any]) -> None:
        """Say yes to this very text."""
        value = {hook["key"]: {"enabled": True, "trusted_hash": hook["currentHash"]}}
        edit = {"keyPath": _SETTING, "value": value, "mergeStrategy": "upsert"}
        self._request("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})

    def _request(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
        raise AssertionError(f"Codex did not answer {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
