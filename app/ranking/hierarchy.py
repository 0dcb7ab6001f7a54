"""MCP-Zero's hierarchical score, for requests that name a server (arXiv 2506.01056)."""

import re
from collections.abc import Mapping, Sequence

from app.catalog.catalog import CatalogTool
from app.ranking.ranked import Request
from app.ranking.text import split_name
from store.records import ServerRecord

_BLOCK = re.compile(r"<tool_assistant>(.*?)(?:</tool_assistant>|\Z)", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"^[^\S\n]*(server|tool)[^\S\n]{0,9}:(.*)$", re.MULTILINE | re.IGNORECASE)
_LONGEST = 600  # characters of a server's text; the encoder reads about 1,000
_MOST_NAMES = 40


def parse_request(text: str) -> Request:
    """A query, or the server and tool of an agent's <tool_assistant> block in it."""
    block = _BLOCK.search(text)
    fields = {k.lower(): v.strip() for k, v in _FIELD.findall(block.group(1))} if block else {}
    if not fields:
        return Request(text)
    tool = fields.get("tool", "")
    return Request(tool or fields.get("server", ""), fields.get("server", ""), tool)


def described(server: ServerRecord) -> str:
    """A server's description of itself, after its name."""
    info = server.server_info
    fields = (info.get("title"), info.get("description"), server.instructions)
    text = " ".join(part for part in fields if isinstance(part, str))
    return f"{split_name(server.name)}: {' '.join(text.split())}"[:_LONGEST].rstrip(": ")


def enhanced(server: ServerRecord, tools: Sequence[CatalogTool]) -> str:
    """A server's description by its tools: their names, as a list of its abilities."""
    return enhanced_by(server.name, [row.tool.name for row in tools if not row.tool.gone])


def enhanced_by(server: str, tools: Sequence[str]) -> str:
    """The same by their names."""
    names = [split_name(name) for name in tools[:_MOST_NAMES]]
    return f"{split_name(server)} can {', '.join(names)}"[:_LONGEST]


def score(server: float, tool: float) -> float:
    """(s_server * s_tool) * max(s_server, s_tool) of two cosines; below 0 counts as 0."""
    server, tool = max(server, 0.0), max(tool, 0.0)
    return server * tool * max(server, tool)


def scores(
    cosines: Mapping[int, float], servers: Mapping[int, float], server_of: Mapping[int, int]
) -> dict[int, float]:
    """The hierarchical score of each tool; `servers` are cosines by server id."""
    return {tool: score(servers.get(server_of[tool], 0.0), c) for tool, c in cosines.items()}
