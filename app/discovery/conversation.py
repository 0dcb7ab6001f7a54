"""What is asked of a server that answers: its tools first, then all that may fail alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from app.discovery.checks import check_tools, list_hash
from app.discovery.lists import Listed, read_list
from app.discovery.reading import Limits, Reading, ReadingError
from app.discovery.wire import CAPABILITIES, Wire, server_info
from store.records import COULD_NOT_START, Json

_LONGEST_INSTRUCTIONS = 100_000  # characters
_OPTIONAL = "resources/templates/list"  # no capability of its own, many servers lack it
_EXTRAS = (
    ("prompts", "prompts/list", "prompts"),
    ("resources", "resources/list", "resources"),
    ("resources", _OPTIONAL, "resourceTemplates"),
)


async def converse(wire: Wire, *, limits: Limits, list_changes: Callable[[], int]) -> Reading:
    """Everything the server says of itself; raises ReadingError, MCPError when it hangs up."""
    greeting = await wire.greet()
    capabilities = greeting.get("capabilities")
    capabilities = capabilities if isinstance(capabilities, dict) else {}
    listed = await _tools(wire, limits, list_changes)
    tools = check_tools(listed.entries, limits)
    notes = [listed.note] if listed.note else []
    extras: dict[str, tuple[Json, ...]] = {}
    for capability, method, key in _EXTRAS:
        extras[key] = ()
        if capability in capabilities:
            extras[key], note = await _extra(wire, method, key, limits)
            notes += [note] if note else []
    return Reading(
        tools=tools,
        server_info=server_info(greeting),
        capabilities=capabilities,
        instructions=str(greeting.get("instructions") or "")[:_LONGEST_INSTRUCTIONS],
        prompts=extras["prompts"],
        resources=extras["resources"],
        templates=extras["resourceTemplates"],
        list_hash=list_hash(tools),
        taken_with={
            "protocol": wire.protocol,
            "era": wire.era,
            "client_capabilities": CAPABILITIES,
            "notes": notes,
        },
    )


async def _tools(wire: Wire, limits: Limits, list_changes: Callable[[], int]) -> Listed:
    """The tools; read once more when the server says that its list changed meanwhile."""
    read = partial(read_list, wire.ask, "tools/list", "tools", most=limits.tools)
    changes = list_changes()
    try:
        listed = await read()
        if list_changes() != changes:
            listed = await read()
    except ValueError as error:
        raise ReadingError(COULD_NOT_START, f"It could not be read: {error}.") from error
    return listed


async def _extra(wire: Wire, method: str, key: str, limits: Limits) -> tuple[tuple[Json, ...], str]:
    """One of the lists beside the tools, and why it is missing: that harms nothing else."""
    listed: Listed | None = None
    note = f"{method} was not answered."
    with anyio.move_on_after(limits.extras_seconds):
        try:
            listed = await read_list(wire.ask, method, key, most=limits.extras)
        except (MCPError, ValueError) as error:
            if method == _OPTIONAL and getattr(error, "code", 0) == METHOD_NOT_FOUND:
                return (), ""
            note = f"{method} failed: {error_text(error)}"
    if listed is None:
        return (), note
    return tuple(entry for entry in listed.entries if isinstance(entry, dict)), listed.note


def error_text(error: Any) -> str:
    """The first line of what a server's error says."""
    text = error.error.message if isinstance(error, MCPError) else str(error)
    return str(text).strip().partition("\n")[0][:300] or "no reason given"
