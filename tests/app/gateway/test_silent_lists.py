"""A server that starts and never lists its tools holds a call for ten seconds."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from raw_host import text

pytestmark = pytest.mark.usefixtures("encoderless")
SERVER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "tools/list" and os.path.exists(os.environ["SILENT"]):
        continue
    result = {}
    if method == "initialize":
        info = {"name": "quiet", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "serverInfo": info}
        result["capabilities"] = {"tools": {}}
    elif method == "tools/list":
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "called"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("mode", ["through", "pruned"])
def test_a_call_waits_ten_seconds_for_a_list_that_never_comes(
    stocked: Any, gateway: Any, tmp_path: Path, mode: str
) -> None:
    silent = tmp_path / "silent"
    launch = {
        "command": sys.executable,
        "args": ["-c", SERVER],
        "env": {"SILENT": str(silent)},
    }
    stocked({"quiet": launch})
    silent.touch()
    host = gateway(*([] if mode == "through" else ["--server", "quiet"]))
    host.initialize()
    began = time.monotonic()
    if mode == "through":
        arguments = {"name": "quiet/echo", "arguments": {}}
        number = host.ask("tools/call", {"name": "call_tool", "arguments": arguments})
    else:
        number = host.ask("tools/call", {"name": "echo", "arguments": {}})
    answer = host.wait(number, 60)
    seconds = time.monotonic() - began
    assert 8 < seconds < 30
    assert text(answer["result"])
