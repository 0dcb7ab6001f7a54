import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import apsw
import pytest

from app.core.context import AppContext
from store import servers, tools
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec, TokenCount

AddServer = Callable[..., int]
_FAKES = Path(__file__).parents[1] / "fakes" / "host_world.py"


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


@pytest.fixture(scope="session")
def host_world() -> ModuleType:
    """The module tests/fakes/host_world.py."""
    spec = importlib.util.spec_from_file_location("host_world", _FAKES)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["host_world"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def world(tmp_path: Path, ctx: AppContext, db: apsw.Connection, host_world: ModuleType):
    """Hosts with files in a home of their own."""
    return host_world.HostWorld(tmp_path, ctx, db)
