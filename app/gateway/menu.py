"""The few tools that stand for all others, and what is said about them at initialize."""

from collections.abc import Iterable, Sequence

from app.gateway.protocol import Json

SEARCH, CALL = "search_tools", "call_tool"
_MOST_CHARACTERS = 500  # of the servers' names in the search tool's description


def menu_tools(behind: str) -> list[Json]:
    """search_tools and call_tool; `behind` says what can be found."""
    found = f" {behind}" if behind else ""
    return [
        {
            "name": SEARCH,
            "description": f"Find a tool by what you want to do.{found} Answers the best tool with"
            " its arguments, and others by name. A tool's name as the query gives its arguments.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "server": {"type": "string"},
                    "limit": {"type": "integer"},
                },
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        },
        {
            "name": CALL,
            "description": "Call a tool that search_tools found.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "server/tool"},
                    "arguments": {"type": "object"},
                    "detail": {
                        "type": "string",
                        "enum": ["short", "full"],
                        "description": "how much of the result",
                    },
                },
                "required": ["name"],
            },
        },
    ]


def behind(servers: Sequence[str], pool: str) -> str:
    """What the search tool says of the servers that are on."""
    if pool == "none" or not servers:
        return ""
    shown: list[str] = []
    for name in servers:
        if len(", ".join([*shown, name])) > _MOST_CHARACTERS:
            return f"Servers: {', '.join(shown)} and {len(servers) - len(shown)} more."
        shown.append(name)
    return f"Servers: {', '.join(shown)}."


def instructions(tools: Iterable[tuple[str, str]], pool: str, count: int) -> str:
    """What is said at initialize: how to use the menu, and the summary pool if it is wanted.

    `tools` are (tool id, summary); they are listed for the pools `names` and `all`.
    """
    text = f"Toolcrib keeps {count} servers' tools behind {SEARCH} and {CALL}: search, then call."
    if pool == "names":
        return text + " Tools: " + ", ".join(name for name, _ in tools)
    if pool == "all":
        return text + "\n" + "\n".join(f"{name}: {summary}" for name, summary in tools)
    return text
