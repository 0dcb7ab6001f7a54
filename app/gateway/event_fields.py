"""Fields of an event that may leave: counts, times and names; texts only where that is wanted."""

from store.typed import TYPE_CHECKING, Json

if TYPE_CHECKING:
    from store.records import EventRecord

_METHODS = {"call": "tools/call", "search": "tools/call", "list": "tools/list"}


def line_of(event: "EventRecord", *, texts: bool) -> Json:
    """An event as one line of a JSONL export: counts, times, names."""
    server, _, tool = event.tool.partition("/")
    line: Json = {
        "time": event.at,
        "kind": event.kind,
        "server": server,
        "tool": tool,
        "host": event.host,
        "profile": event.profile,
        "session": event.session,
        "ms": event.ms,
        "tokens": event.tokens,
        "failed": bool(event.problem),
    }
    return line | {"query": event.query, "problem": event.problem} if texts else line


def attributes_of(event: "EventRecord", *, texts: bool) -> dict[str, str | int]:
    """The attributes of an event's span."""
    server, _, tool = event.tool.partition("/")
    made: dict[str, str | int] = {"toolcrib.event": event.kind, "toolcrib.profile": event.profile}
    if method := _METHODS.get(event.kind):
        made["mcp.method.name"] = method
    if event.kind == "search":
        made |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_tools"}
    elif tool:
        made |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    named = {
        "toolcrib.server": server,
        "toolcrib.host": event.host,
        "mcp.session.id": event.session,
    }
    made |= {key: value for key, value in named.items() if value}
    if event.tokens:
        made["toolcrib.tokens"] = event.tokens
    if event.problem:
        made["error.type"] = "tool_error" if event.kind == "call" else "_OTHER"
    if texts:
        wording = {"toolcrib.query": event.query, "toolcrib.problem": event.problem}
        made |= {key: value for key, value in wording.items() if value}
    return made


def span_name(event: "EventRecord") -> str:
    """The name of an event's span: the method and the tool, as the conventions have it."""
    method = _METHODS.get(event.kind)
    tool = "search_tools" if event.kind == "search" else event.tool.partition("/")[2]
    return f"{method} {tool}".strip() if method else f"toolcrib {event.kind}"
