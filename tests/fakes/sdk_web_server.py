"""A server of the official SDK over HTTP: sdk_web_server.py TRANSPORT PORT."""

import sys

from mcp.server.mcpserver import Context, MCPServer

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


server.run(transport=sys.argv[1], port=int(sys.argv[2]))
