"""What an echoing server is given, and the forms in which its secrets are looked for."""

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parents[2]
SERVER = str(ROOT / "tests" / "fakes" / "echoing_server.py")

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


@contextlib.contextmanager
def web(mode: str, file: str = "") -> Iterator[str]:
    env = {**os.environ, "ECHO_WEB": "1", "ECHO_MODE": mode, "ECHO_MODE_FILE": file}
    with subprocess.Popen([sys.executable, SERVER], env=env, stdout=subprocess.PIPE) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp/{PATH}"
        finally:
            process.kill()


@contextlib.contextmanager
def config(kind: str, mode: str, file: str = "") -> Iterator[dict]:
    """The entry of a host's file for an echoing server; `file` may hold another mode later."""
    if kind == "stdio":
        env = {**ENVIRONMENT, "ECHO_MODE": mode, "ECHO_MODE_FILE": file}
        yield {"command": sys.executable, "args": [SERVER, *ARGUMENTS], "env": env}
        return
    with web(mode, file) as url:
        headers = {"Authorization": f"Bearer {BEARER}", "X-Team": TEAM}
        yield {"type": "http", "url": url, "headers": headers}
