"""Cost in tokens of the menu that a host gets through Toolcrib, for any number of servers."""

from app.catalog.catalog import Catalog
from app.catalog.menu_tools import LISTING, instructions, menu_tools, server_list_text
from app.tokens.counters import CHARACTERS_PER_TOKEN
from app.tokens.host_text import host_text
from store.records import COULD_NOT_START

MENU_TOOLS = 2
_OF_NAMES = 3.8  # characters per o200k token over the names of 1,280 real tools


def menu_tokens(catalog: Catalog, pool: str = "") -> int:
    """Tokens of search_tools, call_tool and the instructions, without pinned tools.

    An estimate by characters, within 10 % for English: loading a tokenizer takes half a second, and
    this is asked at every start of the window. `pool` is another one than the profile's.
    """
    pool = pool or catalog.settings.gateway.pool
    callable_ids = {row.tool.server_id for row in catalog.shown}
    named = (
        server
        for server in catalog.servers
        if server.trusted and not server.disabled and server.status != COULD_NOT_START
        if server.id in callable_ids or not server.read_at
    )
    servers = sorted(named, key=lambda server: server.name.lower())
    listed = catalog.shown if pool in LISTING else ()
    instructions_text = instructions(
        [(server.name, server.instructions) for server in servers],
        [(row.tool.tool_id, row.tool.description) for row in listed],
        pool,
    )
    server_list = server_list_text([server.name for server in servers], pool)
    menu = menu_tools(server_list)
    characters = len(instructions_text) + sum(len(host_text(tool)) for tool in menu)
    names = len(server_list) + sum(len(row.tool.tool_id) for row in listed)
    return round((characters - names) / CHARACTERS_PER_TOKEN + names / _OF_NAMES)


def name_tokens(name: str) -> int:
    """Tokens of a tool's name in a list of names, estimated by characters."""
    return max(1, round((len(name) + 1) / _OF_NAMES))
