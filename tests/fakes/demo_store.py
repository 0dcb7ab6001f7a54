"""Fills a store with servers and tools whose token counts are given, for tests of the window."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from store import servers, tools
from store.connection import transaction
from store.records import READ, EntryRecord, NewTool, SelfDescription, ServerSpec, TokenCount

AT = 1_790_000_000.0


@dataclass(frozen=True)
class DemoTool:
    name: str
    tokens: int = 100
    description: str = ""
    annotations: Mapping = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class DemoServer:
    name: str
    tools: Sequence[DemoTool] = ()
    hosts: Sequence[str] = ("claude-desktop",)
    status: str = READ
    problem: str = ""
    trusted: bool = True


DEMO = (
    DemoServer(
        "github",
        (
            DemoTool("search_code", 1412, "Search code across repositories."),
            DemoTool("create_issue", 741, "Open an issue."),
            DemoTool("merge", 942, "Merge a pull request.", {"destructiveHint": True}),
        ),
        ("claude-desktop", "cursor"),
    ),
    DemoServer("time", (DemoTool("now", 90, "The time."), DemoTool("convert", 110, "Convert."))),
    DemoServer("slack", (), status="could not start", problem="exit code 1: no token"),
    DemoServer("team", (DemoTool("deploy", 300, "Deploy it."),), trusted=False),
)


def big(number_of_servers: int, tools_each: int) -> tuple[DemoServer, ...]:
    return tuple(
        DemoServer(
            f"server-{s:02}",
            tuple(
                DemoTool(f"tool_{s}_{n}", 100 + (s * 37 + n * 61) % 1900, f"Does thing {n}. " * 6)
                for n in range(tools_each)
            ),
        )
        for s in range(number_of_servers)
    )


def fill(db: apsw.Connection, demo: Sequence[DemoServer] = DEMO) -> None:
    with transaction(db):
        for server in demo:
            _place(db, server)


def _place(db: apsw.Connection, server: DemoServer) -> None:
    key = hashlib.sha256(server.name.encode()).hexdigest()
    spec = ServerSpec("stdio", key, "npx", ("-y", server.name))
    for host in server.hosts:
        entry = EntryRecord(host, "user", f"/home/ana/{host}.json", server.name)
        placed = servers.place(db, entry, spec, name=server.name, trusted=server.trusted)
    new = [_tool(tool) for tool in server.tools]
    if server.status == READ:
        tools.save_list(db, placed, new, AT)
        info = {"name": server.name, "version": "1.0"}
        described = SelfDescription(server_info=info, list_hash=key)
        servers.save_reading(db, placed, described, at=AT)
    servers.set_status(db, placed, server.status, server.problem)
    sizes = {tool.name: tool.tokens for tool in server.tools}
    rows = tools.tools(db, placed)
    tools.save_token_counts(db, [_count(row.id, sizes[row.name]) for row in rows])


def _tool(tool: DemoTool) -> NewTool:
    raw = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for."}},
            "required": ["query"],
        },
        "annotations": dict(tool.annotations),
    }
    text = json.dumps(raw, sort_keys=True)
    return NewTool(tool.name, raw, hashlib.sha256(text.encode()).hexdigest(), tool.problem)


def _count(tool_id: int, size: int) -> TokenCount:
    return TokenCount(tool_id, "o200k_base", 4, size // 3, size - size // 3 - 4, 0, 0, size)
