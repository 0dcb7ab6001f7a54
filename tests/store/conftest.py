from collections.abc import Callable

import apsw
import pytest

from store import servers, tools
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec


@pytest.fixture
def server(db: apsw.Connection) -> Callable[..., int]:
    """Adds a server with tools; gives its id."""

    def add(name: str, *tool_names: str, trusted: bool = True) -> int:
        spec = ServerSpec(transport="stdio", key=f"key-{name}", command=name)
        entry = EntryRecord("cursor", "user", "/home/a/.cursor/mcp.json", name)
        new = [NewTool(t, {"name": t, "description": f"does {t}"}, f"hash-{t}") for t in tool_names]
        with transaction(db):
            server_id = servers.place(db, entry, spec, name=name, trusted=trusted)
            tools.save_list(db, server_id, new, at=1.0)
        return server_id

    return add
