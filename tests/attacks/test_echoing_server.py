"""A server repeats every secret it was given in every field MCP has, in six encodings.

Over stdio and HTTP, to the scan and through the gateway, in answers, errors and last words: no
byte of a secret is in any file but the secret store, none is in a line that Toolcrib prints.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

ROOT = Path(__file__).parents[2]
SERVER = str(ROOT / "tests" / "fakes" / "echoing_server.py")
TOOLCRIB = [sys.executable, "-m", "ui.main"]

# one of each kind; none has an ordinary word for its own
KEY = "k7Qw-9zPx-33ab"
URL = "postgres://app:pW4-zz81-Lq9@db.example:5432/main"
ODD = 'q"uo/te+Zx19&é'
SHORT = "x9Kq2p"
FLAG = "f1aG-77-value"
PAIR = "pA1r-55-value"
BEARER = "bEar-61-t0ken"
TEAM = "t3Am-29-value"
PATH = "pAth-83-t0ken"
ENVIRONMENT = {
    "ECHO_GIVEN_API_KEY": KEY,
    "ECHO_GIVEN_DATABASE_URL": URL,
    "ECHO_GIVEN_NOTE": ODD,
    "ECHO_GIVEN_PIN": SHORT,
}
ARGUMENTS = ["-p", FLAG, f"Server=db;Password={PAIR};", f"https://h.example/s/{PATH}/mcp"]
LOCAL = (KEY, URL, "pW4-zz81-Lq9", ODD, SHORT, FLAG, PAIR, PATH)
REMOTE = (BEARER, TEAM, PATH)


def encodings(secret: str) -> set[bytes]:
    """The secret in six encodings; base64 without the ends that its neighbours share."""
    data = secret.encode()
    found = {data, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode()}
    found |= {data.hex().encode(), data.hex().upper().encode()}
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        core = text[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        found |= {core.encode(), core.replace("+", "-").replace("/", "_").encode()}
    return found


def leaks(data: bytes, secrets: tuple[str, ...]) -> set[str]:
    return {secret for secret in secrets if any(one in data for one in encodings(secret))}


def files_that_leak(home: Path, secrets: tuple[str, ...]) -> dict[str, set[str]]:
    found = {}
    for file in home.rglob("*"):
        kept = file.name == "secrets.json" or not file.is_file()
        if not kept and (lost := leaks(file.read_bytes(), secrets)):
            found[str(file.relative_to(home))] = lost
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "toolcrib"


@pytest.fixture
def toolcrib(home: Path, tmp_path: Path):
    """Runs a verb as a person would; all that it printed."""

    def run(*words: str) -> bytes:
        env = {**os.environ, "TOOLCRIB_HOME": str(home), "HOME": str(tmp_path / "person")}
        env["PYTHONPATH"] = str(ROOT)
        (tmp_path / "person").mkdir(exist_ok=True)
        result = subprocess.run(
            [*TOOLCRIB, *words], env=env, capture_output=True, timeout=120, check=False
        )
        assert b"Traceback" not in result.stderr, result.stderr.decode()
        return result.stdout + result.stderr

    return run


@contextlib.contextmanager
def web(mode: str) -> Iterator[str]:
    env = {**os.environ, "ECHO_WEB": "1", "ECHO_MODE": mode}
    with subprocess.Popen([sys.executable, SERVER], env=env, stdout=subprocess.PIPE) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp/{PATH}"
        finally:
            process.kill()


@contextlib.contextmanager
def config(kind: str, mode: str) -> Iterator[dict]:
    """The entry of a host's file for an echoing server."""
    if kind == "stdio":
        env = {**ENVIRONMENT, "ECHO_MODE": mode}
        yield {"command": sys.executable, "args": [SERVER, *ARGUMENTS], "env": env}
        return
    with web(mode) as url:
        headers = {"Authorization": f"Bearer {BEARER}", "X-Team": TEAM}
        yield {"type": "http", "url": url, "headers": headers}


def imported(toolcrib, tmp_path: Path, entry: dict) -> bytes:
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"mcpServers": {"echo": entry}}), encoding="utf-8")
    return toolcrib("import", str(file), "--scan", "--yes")


@pytest.mark.parametrize("mode", ["ok", "crash", "refuse"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_scan_keeps_no_secret_that_a_server_repeats(kind, mode, toolcrib, home, tmp_path):
    secrets = LOCAL if kind == "stdio" else REMOTE
    with config(kind, mode) as entry:
        printed = imported(toolcrib, tmp_path, entry)
        for words in (["scan", "--yes", "--json"], ["footprint"], ["review"], ["route", "plain"]):
            printed += toolcrib(*words)
    assert not files_that_leak(home, secrets)
    # arguments that nothing names a credential are shown to the person who agrees to the command
    assert not leaks(printed, tuple({*secrets} - ({FLAG, PATH} if kind == "stdio" else set())))
    if mode == "ok":
        assert "••••".encode() in (home / "toolcrib.db").read_bytes()


@pytest.mark.parametrize("way", ["through", "pruned"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_gateway_keeps_no_secret_that_a_server_repeats(
    kind, way, toolcrib, home, tmp_path, raw_host
):
    secrets = LOCAL if kind == "stdio" else REMOTE
    with config(kind, "ok") as entry:
        imported(toolcrib, tmp_path, entry)
        toolcrib("profile", "set", "new_tools=on")
        options = ["--server", "echo"] if way == "pruned" else []
        env = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), "TOOLCRIB_STANDALONE": "1"}
        host = raw_host.RawHost(raw_host.gateway_command("--profile", "default", *options), env)
        try:
            host.initialize()
            for tool in ("add", "fail", "protocol", "crash", "fail"):
                if tool == "crash" and kind == "http":
                    continue
                called = {"name": tool, "arguments": {}}
                if way == "through":
                    called = {"name": "call_tool", "arguments": {**called, "name": f"echo/{tool}"}}
                host.wait(host.ask("tools/call", called))
                host.tools()
                if tool == "add" and kind == "stdio":  # the server forgets it with its crash
                    host.until(lambda: b"late_0" in stored(home), 60)
        finally:
            host.close()
    assert not files_that_leak(home, secrets)


def stored(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.glob("toolcrib.db*"))
