"""Requests to a server that answers: its tools first, then all that may fail alone."""

import math
import threading

from app.core.own_code import own_version
from app.indexing.raw_tools import clean
from app.indexing.reading import LEGACY, MODERN, Limits, Reading, ReadingError
from app.indexing.tool_checks import check_tools, list_hash
from app.mcp import jsonrpc, protocol
from app.mcp.connection import Connection
from app.mcp.limits import HungError, Watch
from app.mcp.listing import Listing
from app.mcp.requests import ServerRequest
from app.mcp.revisions import server_info
from store.records import COULD_NOT_START
from store.typed import Json, object_or_empty

# Capabilities of hosts together: servers show some tools only to a client that has these.
CAPABILITIES: Json = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}}}
_ANSWERS: dict[str, Json] = {
    "roots/list": {"roots": []},
    "elicitation/create": {"action": "decline"},
}
_LONGEST_INSTRUCTIONS = 100_000  # characters
_OPTIONAL = "resources/templates/list"  # no capability of its own, many servers lack it
_EXTRAS = (("prompts", "prompts/list"), ("resources", "resources/list"), ("resources", _OPTIONAL))


def client_info() -> Json:
    """Our name and version, as servers see them."""
    return {"name": "toolcrib", "version": own_version()}


def hello() -> Json:
    """The params of initialize."""
    return {
        "protocolVersion": protocol.HANDSHAKE[-1],
        "capabilities": CAPABILITIES,
        "clientInfo": client_info(),
    }


def envelope() -> Json:
    """The reserved keys of every request to a stateless server."""
    return {
        protocol.VERSION_KEY: protocol.MODERN,
        protocol.CLIENT_INFO_KEY: client_info(),
        protocol.CAPABILITIES_KEY: CAPABILITIES,
    }


_WHY = "Not while the tools are being read."


def answer(_connection: Connection, request: ServerRequest, *, why: str = _WHY) -> None:
    """Answer what a server asks meanwhile, or say why not."""
    result = _ANSWERS.get(request.method)
    if result is not None:
        request.answer(jsonrpc.result(0, result))
    else:
        request.refuse(protocol.METHOD_NOT_FOUND, why)


def converse(connection: Connection, limits: Limits, watch: Watch) -> Reading:
    """Everything the greeted server says of itself.

    Raises ReadingError, and HungError or StoppedError while the tools are not known.
    """
    greeting: Json = clean(connection.hello_result)
    capabilities = object_or_empty(greeting.get("capabilities"))
    tools = _tools(connection, limits, watch)
    lists: dict[str, tuple[Json, ...]] = {}
    notes = [tools.note]
    for capability, method in _EXTRAS:
        lists[method] = ()
        if capability in capabilities:
            lists[method], note = _extra(connection, method, limits, watch)
            notes.append(note)
    if tools.stale and not connection.gone:
        tools = _tools(connection, limits, watch)
    checked = check_tools(clean(tools.entries), limits)
    if connection.channel.junk_lines:
        count = f"{connection.channel.junk_lines:,}"
        notes.append(f"It printed {count} lines on stdout that are no messages.")
    modern = connection.version == protocol.MODERN
    info = greeting.get("serverInfo") or server_info(greeting)
    return Reading(
        problem=tools.note,
        tools=checked,
        server_info=object_or_empty(info),
        capabilities=capabilities,
        instructions=str(greeting.get("instructions") or "")[:_LONGEST_INSTRUCTIONS],
        prompts=lists["prompts/list"],
        resources=lists["resources/list"],
        templates=lists[_OPTIONAL],
        list_hash=list_hash(checked),
        taken_with={
            "protocol": connection.version,
            "era": MODERN if modern else LEGACY,
            "client_capabilities": CAPABILITIES,
            "notes": [note for note in notes if note],
        },
    )


def _tools(connection: Connection, limits: Limits, watch: Watch) -> Listing:
    tools = _listed(connection, "tools/list", limits.tools, limits.total_seconds, watch)
    if tools.problem:
        verb = "It refused to answer tools/list" if tools.code else "It could not be read"
        raise ReadingError(COULD_NOT_START, f"{verb}: {tools.problem}")
    return tools


def _extra(
    connection: Connection, method: str, limits: Limits, watch: Watch
) -> tuple[tuple[Json, ...], str]:
    """One of the lists beside the tools, and why it is missing: that harms nothing else."""
    seconds = limits.extras_seconds
    try:
        extra = _listed(connection, method, limits.extras, seconds, watch, quiet=seconds)
    except HungError:
        return (), f"{method} was not answered."
    if extra.problem:
        missing = method == _OPTIONAL and extra.code == protocol.METHOD_NOT_FOUND
        return (), "" if missing else f"{method} failed: {extra.problem}"
    return tuple(clean([e for e in extra.entries if isinstance(e, dict)])), extra.note


def _listed(
    connection: Connection,
    method: str,
    most: int,
    seconds: float,
    watch: Watch,
    *,
    quiet: float = math.inf,
) -> Listing:
    done = threading.Event()
    listing = Listing(connection, method, lambda _items: done.set(), most=most, seconds=seconds)
    watch.progress = connection.channel.progress
    watch.waiting_for = f"to answer {method}"
    listing.start()
    watch.wait(done.wait, quiet)
    return listing
