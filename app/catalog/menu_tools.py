"""The gateway's menu: a few tools in place of all others, and its instructions at initialize."""

from collections.abc import Iterable, Sequence

from store.typed import Json, object_or_empty

SEARCH, CALL = "search_tools", "call_tool"
SUGGEST = "suggest_tools"  # for hosts' hooks: called before a prompt, never listed
POOLS = ("servers", "names", "all", "none")  # what initialize lists: GatewaySettings.pool
LISTING = ("names", "all")  # the pools that list tools
_MOST_CHARACTERS = 500  # of the servers' names in the search tool's description
_SHORT = 160  # characters of a server's instructions that fit into those of the gateway
_ALL_SHORT = 480  # characters of all servers' short instructions together
# keeps Claude Code from deferring a tool, so that it is part of the first request
ALWAYS_LOAD = "anthropic/alwaysLoad"
_SUMMARY = 120  # characters of a tool's description in the pool `all`


def menu_tools(servers_text: str) -> list[Json]:
    """search_tools and call_tool; `servers_text` says what can be found."""
    servers = f" {servers_text}" if servers_text else ""
    return [
        {
            "name": SEARCH,
            "description": f"Find a tool by what you want to do.{servers} Answers the best tool"
            " with its arguments, or signatures, and others by name. A tool's name as the query"
            " gives its arguments.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "English, verb and object, one step a search",
                    },
                    "server": {"type": "string"},
                    "limit": {"type": "integer"},
                },
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
            "_meta": {ALWAYS_LOAD: True},
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
            "_meta": {ALWAYS_LOAD: True},
        },
    ]


def always_loaded(tool: Json) -> Json:
    """The tool with the mark that keeps hosts from deferring it; its other _meta untouched."""
    return {**tool, "_meta": {**object_or_empty(tool.get("_meta")), ALWAYS_LOAD: True}}


def server_list_text(servers: Sequence[str], pool: str) -> str:
    """Sentence of the search tool that names the servers that are on."""
    if pool == "none" or not servers:
        return ""
    shown: list[str] = []
    for name in servers:
        if len(", ".join([*shown, name])) > _MOST_CHARACTERS:
            return f"Servers: {', '.join(shown)} and {len(servers) - len(shown)} more."
        shown.append(name)
    return f"Servers: {', '.join(shown)}."


def instructions(
    servers: Iterable[tuple[str, str]], tools: Iterable[tuple[str, str]], pool: str
) -> str:
    """Instructions for initialize: use of the menu, the summary pool, servers' short words.

    `servers` are (name, instructions), `tools` (tool id, description) for the pools `names` and
    `all`.
    """
    servers = list(servers)
    whose = "1 server's" if len(servers) == 1 else f"{len(servers)} servers'"
    text = f"Toolcrib keeps {whose} tools behind {SEARCH} and {CALL}: search, then call."
    if pool == "names":
        text += " Tools: " + ", ".join(name for name, _ in tools)
    elif pool == "all":
        text += "".join(f"\n{name}: {_summary(words)}" for name, words in tools)
    return "\n".join([text, *_short_words(servers)])


def is_short(words: str) -> bool:
    """True if a server's instructions are short enough for the instructions at initialize."""
    return len(words) <= _SHORT


def _summary(description: str) -> str:
    return " ".join(description.split())[:_SUMMARY]


def _short_words(servers: Iterable[tuple[str, str]]) -> list[str]:
    """The servers' instructions that fit at initialize; longer ones come with a search."""
    lines: list[str] = []
    for name, words in servers:
        text = " ".join(words.split())
        if text and is_short(text):
            line = f"{name}: {text}"
            if sum(map(len, lines)) + len(line) <= _ALL_SHORT:
                lines.append(line)
    return lines
