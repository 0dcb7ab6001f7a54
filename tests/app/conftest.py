from collections.abc import Callable, Iterator

import apsw
import pytest

from store import servers, tools
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec, TokenCount

AddServer = Callable[..., int]


@pytest.fixture
def add_server(db: apsw.Connection) -> Iterator[AddServer]:
    """Adds a server with counted tools (100 tokens each); gives its id."""

    def add(name: str, *tool_names: str, trusted: bool = True) -> int:
        spec = ServerSpec(transport="stdio", key=f"key-{name}", command=name)
        entry = EntryRecord("cursor", "user", "/home/a/.cursor/mcp.json", name)
        new = [NewTool(t, {"name": t, "description": f"does {t}"}, f"hash-{t}") for t in tool_names]
        with transaction(db):
            server_id = servers.place(db, entry, spec, name=name, trusted=trusted)
            delta = tools.save_list(db, server_id, new, at=1.0)
            counts = [TokenCount(i, "o200k_base", 10, 40, 50, 0, 0, 100) for i in delta.added]
            tools.save_token_counts(db, counts)
        return server_id

    yield add
