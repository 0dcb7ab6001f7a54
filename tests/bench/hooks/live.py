"""A real gateway over a made store, as a host has it: adapter, backend, and the hook's command."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from app.core.paths import gateway_program
from app.export.wrapping import GatewayCall
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STOP, Place, connect
from app.hooks.entries import words_of
from app.hosts.facts import host
from app.ranking.floor import set_scan_floor
from store.connection import transaction
from store.typed import Json
from tests.bench.cpu import wait_for
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import QuerySet

HOST = "claude-code"
_ROOT = Path(__file__).parents[3]
_LIMIT = 120.0  # seconds, for what a busy machine may take
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the hook's command."""

    text: str  # that it adds to the prompt
    cpu_ms: float
    wall_ms: float


class Home:
    """A data folder of its own that holds a query set's tools."""

    def __init__(self, folder: Path, models: Path) -> None:
        self.folder = folder
        self.place = Place(str(folder))
        self.environ = {
            **os.environ,
            "TOOLCRIB_HOME": str(folder),
            "TOOLCRIB_MODELS": str(models),
            "TOOLCRIB_STANDALONE": "",
            "PYTHONPATH": str(_ROOT),
        }

    def fill(self, given: QuerySet, encoder: CachedEncoder) -> None:
        """Store the set's tools, all on, with the floor of a scan."""
        db = open_corpus(self.folder / "toolcrib.db", given, encoder)
        try:
            with transaction(db):
                set_scan_floor(db, encoder, time.time)
        finally:
            db.close()

    def hook_command(self, *, plain: bool = False) -> list[str]:
        """What Toolcrib writes into a host's file; `plain` as it stands in a packaged build."""
        call = GatewayCall(str(gateway_program()), "default", str(self.folder))
        words = words_of(host(HOST), call)
        return [call.path, *words[words.index("hook") :]] if plain else words

    def run(self, command: Sequence[str], given: Mapping[str, str]) -> Ran:
        """Run a command as a host runs a hook."""
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env=self.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the hook has no pipes")
        with process.stdin, process.stdout:
            process.stdin.write(json.dumps(given).encode())
            process.stdin.close()
            data = process.stdout.read()
        cpu = wait_for(process)
        wall = time.perf_counter() - began
        made = json.loads(data) if data else {}
        text = made.get("hookSpecificOutput", {}).get("additionalContext", "")
        return Ran(text, cpu * 1000, wall * 1000)

    def stop(self) -> None:
        """End the backend, if one runs, and see it gone."""
        limit = time.monotonic() + _LIMIT
        while (link := connect(self.place)) is not None:
            link.close()
            request(self.place, STOP)  # one that has only just begun may not hear the first
            _pause(limit, "the backend did not end")

    def wait_for_backend(self) -> None:
        """Wait until one listens."""
        limit = time.monotonic() + _LIMIT
        while (link := connect(self.place)) is None:
            _pause(limit, "no backend came")
        link.close()

    def wait_for_hook(self, prompts: Sequence[str]) -> None:
        """Wait until the backend's encoder is loaded and the hook speaks for one of them."""
        limit = time.monotonic() + _LIMIT
        number = 0
        while not self.run(
            self.hook_command(), _given(prompts[number % len(prompts)], f"warming {number}")
        ).text:
            number += 1
            _pause(limit, "the hook never spoke")


class Connection:
    """A host's connection to Toolcrib: this process is the host."""

    def __init__(self, home: Home, *words: str) -> None:
        self._home = home
        self._process = subprocess.Popen(
            [sys.executable, "-m", "app.gateway.main", "--profile", "default", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=home.environ,
            cwd=_ROOT,
        )

    def __enter__(self) -> "Connection":
        self.request("initialize", _HELLO)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        process = self._process
        if process.stdin and process.stdout:
            process.stdin.close()
            process.wait(_LIMIT)
            process.stdout.close()

    def request(self, method: str, params: Mapping[str, object]) -> Json:
        """The result of a request."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the gateway has no pipes")
        message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == method:
                if "result" not in answer:
                    raise RuntimeError(f"{method} was refused: {answer['error']}")
                result: Json = answer["result"]
                return result
        raise RuntimeError(f"the gateway ended before it answered {method}")

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """The text that a tool of the menu answers."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in result["content"])

    def suggestion(self, prompt: str, conversation: str) -> Ran:
        """What the hook's command adds to a prompt of this host."""
        return self._home.run(self._home.hook_command(), _given(prompt, conversation))


@contextmanager
def home_with(
    folder: Path, given: QuerySet, encoder: CachedEncoder, models: Path
) -> Iterator[Home]:
    """A filled home, whose backend is gone afterwards."""
    home = Home(folder, models)
    home.fill(given, encoder)
    try:
        yield home
    finally:
        home.stop()


def _given(prompt: str, conversation: str) -> dict[str, str]:
    return {"prompt": prompt, "session_id": conversation}


def _pause(limit: float, problem: str) -> None:
    if time.monotonic() > limit:
        raise RuntimeError(problem)
    time.sleep(0.05)
