"""Starts what was built: command line, gateway and window; prints how long each took.

`python packaging/smoke.py FOLDER [STEP ...]`: the folder holds both programs.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

LIMIT = 60.0  # seconds for any one step
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "smoke", "version": "1"},
}
# a server of two tools on stdio, without any package
SERVER = """
import json, sys
TOOLS = [
    {"name": "add_note", "description": "Write a new note.", "inputSchema": {"type": "object"}},
    {"name": "list_trains", "description": "Trains of a day.", "inputSchema": {"type": "object"}},
]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "notes", "version": "1"}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answers = {"initialize": INFO, "tools/list": {"tools": TOOLS}, "ping": {}}
        found = answers.get(asked["method"])
        said = {"error": {"code": -32601, "message": "?"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


def main(dist: Path, steps: Sequence[str] = ()) -> int:
    """Run every step, or those named, in a home of its own; 0 if all passed."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-smoke-") as home:
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "TOOLCRIB_HOME": str(Path(home, "toolcrib")),
            # another platform has to be named: xcb below xvfb-run, for one
            "QT_QPA_PLATFORM": os.environ.get("SMOKE_PLATFORM", "offscreen"),
            **{name: os.environ[name] for name in ("DISPLAY", "XAUTHORITY") if name in os.environ},
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        for step in (command_line, server, encoder, export, gateway, backend, window, pictures):
            if not steps or step.__name__ in steps:
                report(step, dist, env)
    return 0


def report(step: Callable[[Path, dict[str, str]], str], dist: Path, env: dict[str, str]) -> None:
    """Run one step and say how long it took."""
    start, cpu = time.monotonic(), children_cpu()
    answer = step(dist, env)
    took, used = time.monotonic() - start, children_cpu() - cpu
    print(f"{step.__name__:14} {took:5.2f} s, {used:5.2f} s CPU  {answer}", flush=True)


def children_cpu() -> float:
    """CPU seconds of all children that ended."""
    times = os.times()
    return times.children_user + times.children_system


def command_line(dist: Path, env: dict[str, str]) -> str:
    """An empty store has an empty footprint, in JSON."""
    cost = json.loads(run(dist, env, "footprint", "--json"))
    expect(cost["total_tokens"] == 0 and cost["tokenizer"] == "o200k_base", cost)
    return "footprint --json"


def server(dist: Path, env: dict[str, str]) -> str:
    """A server of a config file is read; its tools are counted and encoded."""
    config = Path(env["HOME"], "config.json")
    script = Path(env["HOME"], "server.py")
    script.write_text(SERVER, encoding="utf-8")
    entry = {"command": sys.executable, "args": [str(script)]}
    config.write_text(json.dumps({"mcpServers": {"notes": entry}}), encoding="utf-8")
    run(dist, env, "import", str(config), "--scan", "--yes")
    cost = json.loads(run(dist, env, "footprint", "--json"))
    expect(cost["total_tokens"] > 0, cost)
    return f"import --scan, {cost['total_tokens']} tokens"


def encoder(dist: Path, env: dict[str, str]) -> str:
    """A query is encoded by the encoder in the folder; nothing is fetched or exported."""
    ranked = json.loads(run(dist, env, "route", "note this down", "--json"))
    expect(ranked["words_only"] is False, ranked)
    expect(ranked["tools"][0]["name"] == "add_note", ranked)
    expect(not Path(env["TOOLCRIB_HOME"], "models").exists(), "an encoder was exported")
    return "route, with the encoder"


def export(dist: Path, env: dict[str, str]) -> str:
    """A host's file gets the gateway in place of its server, and is restored byte for byte."""
    file = Path(env["HOME"], ".cursor", "mcp.json")
    file.parent.mkdir()
    before = Path(env["HOME"], "config.json").read_bytes()
    file.write_bytes(before)
    run(dist, env, "scan", "--yes")
    run(dist, env, "export", "cursor", "--mode", "through")
    entries = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]
    commands = [Path(entry["command"]) for entry in entries.values()]
    expect(all(command.stem == "toolcrib-gateway" for command in commands), entries)
    expect(all(command.is_file() for command in commands), entries)
    run(dist, env, "restore", "cursor")
    expect(file.read_bytes() == before, file.read_text(encoding="utf-8"))
    return "export cursor, then restore"


def gateway(dist: Path, env: dict[str, str]) -> str:
    """The gateway answers initialize and tools/list, and exits when its input ends."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    process = subprocess.Popen(
        [dist / "toolcrib-gateway", "--profile", "default"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
    )
    start = time.monotonic()
    with process:
        assert process.stdin and process.stdout
        process.stdin.write("".join(json.dumps(m) + "\n" for m in messages))
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        took = time.monotonic() - start
        second = json.loads(process.stdout.readline())
        process.stdin.close()
        expect(process.wait(LIMIT) == 0, process.returncode)
    expect(first["id"] == 1 and "result" in first, first)
    names = [tool["name"] for tool in second["result"]["tools"]]
    expect("search_tools" in names, second)
    return f"initialize after {1000 * took:.0f} ms, tools: {', '.join(names)}"


def backend(dist: Path, env: dict[str, str]) -> str:
    """The process that the gateway started is the one that the command line asks, and ends."""
    if sys.platform == "win32":
        return "none on this system"
    status = json.loads(run(dist, env, "backend", "status", "--json"))
    expect(status and "pid" in status, status)
    run(dist, env, "backend", "http", "on", "--port", str(free_port()))
    run(dist, env, "backend", "http", "off")
    expect(json.loads(run(dist, env, "backend", "stop", "--json"))["stopped"], "it went on")
    return "backend status, http on, stop"


def window(dist: Path, env: dict[str, str]) -> str:
    """The window opens on its store, stays, and is ended by a signal."""
    process = subprocess.Popen([dist / "toolcrib"], env=env, stderr=subprocess.PIPE, text=True)
    try:
        _out, err = process.communicate(timeout=8)
        raise SystemExit(f"The window closed by itself ({process.returncode}): {err}")
    except subprocess.TimeoutExpired:
        process.terminate()
        _out, err = process.communicate(timeout=LIMIT)
    expect("Traceback" not in err and "qt.qpa" not in err, err)
    return "stayed open for 8 s"


def pictures(dist: Path, env: dict[str, str]) -> str:
    """Every page of the window is drawn, with its icons and plots."""
    folder = Path(env["HOME"], "pictures")
    run(dist, env, "pictures", str(folder), "--query", "note this down")
    drawn = [file for file in folder.glob("*.png") if file.stat().st_size > 10_000]
    expect(len(drawn) >= 10, drawn)
    return f"{len(drawn)} pages"


def run(dist: Path, env: dict[str, str], *words: str) -> str:
    """What the command line prints."""
    done = subprocess.run(
        [dist / "toolcrib", *words], env=env, capture_output=True, text=True, timeout=LIMIT
    )
    sound = done.returncode == 0 and "Traceback" not in done.stderr
    expect(sound, f"exit {done.returncode}: {done.stderr}")
    return done.stdout


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def expect(holds: bool, evidence: object) -> None:
    """End with what was found unless it is as it should be."""
    if not holds:
        raise SystemExit(f"Smoke test failed: {evidence}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
