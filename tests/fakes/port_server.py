"""A package that answers at a URL of its own: port_server.py PACKAGE --port N [--sse] [--wide]."""

import os
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("port")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def who() -> str:
    """Say the process, its key and the address that it was told."""
    return f"{os.getpid()} {os.environ.get('PORT_KEY', '')} {os.environ.get('HOST', '')}"


print("starting up", flush=True)
if "--exit" in sys.argv:
    sys.exit("no such database")
app = server.sse_app() if "--sse" in sys.argv else server.streamable_http_app()
address = "0.0.0.0" if "--wide" in sys.argv else "127.0.0.1"
listener = socket.create_server((address, int(sys.argv[sys.argv.index("--port") + 1])))
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
