"""A server of the official SDK over HTTP: sdk_web_server.py TRANSPORT."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from web_process import listening, serve

server = MCPServer("web", instructions="A server behind a URL.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def headers(ctx: Context) -> str:
    """Say which credential arrived."""
    request = ctx.request_context.request
    return request.headers.get("authorization", "none") if request is not None else "none"


@server.tool()
async def steps(ctx: Context) -> str:
    """Report progress twice."""
    for step in (1, 2):
        await ctx.report_progress(step, 2)
    return "stepped"


app = server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()
serve(app, listening())
