"""Which line of a server's log says why it could not start."""

import pytest

from app.core.logs import redact
from app.hosts.launch import STDIO, LaunchSpec
from app.mcp.stdio import cause
from tests.fakes.cpu_time import CpuTime

NODE = """node:internal/modules/cjs/loader:1147
  throw err;
  ^

Error: Cannot find module '/x/server.js'
Require stack:
- /x/index.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1144:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""

BOX = """ Usage: server [OPTIONS]
 Try 'server --help' for help.
╭─ Error ──────────────────────────────────────────────────────────────────────╮
│ Missing option '--token'.                                                    │
╰──────────────────────────────────────────────────────────────────────────────╯
"""
EVENT = """node:events:497
      throw er; // Unhandled 'error' event
      ^

Error: connect ECONNREFUSED 127.0.0.1:1
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1607:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:169:8) {
  errno: -111,
  code: 'ECONNREFUSED',
}

Node.js v20.20.2
"""


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (NODE, "Error: Cannot find module '/x/server.js'"),
        ("Traceback\n  File x\nImportError: no y\n", "ImportError: no y"),
        ("npm error 404 x\nnpm error\nnpm error A complete log of this run", "npm error 404 x"),
        ("starting\nno token\n", "no token"),
        ("Error: no token\n\nUsage: server [options] <folder>\n", "Error: no token"),
        ("No folder given\nusage: server FOLDER\nTry 'server --help' for help.", "No folder given"),
        ("usage: s [-h]\ns: error: a token is required", "s: error: a token is required"),
        (BOX, "Missing option '--token'."),
        ("+------+\n| no key |\n+------+", "no key"),
        ("********\nno key\n********", "no key"),
        ("ValueError: no key\nShutting down\nBye.", "ValueError: no key"),
        ("2026-01-02 ERROR [main]: no key\nINFO: closed", "2026-01-02 ERROR [main]: no key"),
        (
            "Error: a\nTraceback (most recent call last):\nb.c.SomeError: no key",
            "b.c.SomeError: no key",
        ),
        (EVENT, "Error: connect ECONNREFUSED 127.0.0.1:1"),
        ("Usage: server FOLDER", "Usage: server FOLDER"),
        ("--- a\n-----", "a"),
        ("Node.js v20.20.2", "Node.js v20.20.2"),
        ("", ""),
    ],
)
def test_the_line_that_says_it_is_picked(printed, line):
    assert cause(printed) == line


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "ap-southeast-2", "us-gov-west-1"])
def test_a_region_is_no_secret_in_what_a_server_says(region):
    launch = LaunchSpec(STDIO, "x", env={"AWS_REGION": region, "AWS_DEFAULT_REGION": region})
    line = f"AWS_REGION={region} has no such bucket"
    assert redact(line, launch.secret_values()) == line


def test_a_hostile_log_takes_linear_time():
    for piece in (
        "error",
        "Error ",
        "usage ",
        "npm error ",
        "try ",
        "| ",
        "\u2500",
        "a.",
        "a(",
        "x\n",
    ):
        with CpuTime() as cpu:
            cause(piece * (1_000_000 // len(piece)))
        assert cpu.seconds < 2.0, piece
