from collections.abc import Callable
from itertools import count

import pytest

from app.catalog.catalog import CatalogTool
from store.records import READ, ServerRecord, ServerSpec, TokenCount, ToolRecord

Make = Callable[..., CatalogTool]


@pytest.fixture
def make() -> Make:
    """Makes catalogue rows with ids 1, 2, ...: make("server/tool", tokens, **changes)."""
    ids = count(1)

    def row(
        tool_id: str,
        tokens: int = 100,
        *,
        description: str = "",
        on: bool = True,
        pinned: bool = False,
        properties: tuple[str, ...] = (),
    ) -> CatalogTool:
        number = next(ids)
        server, name = tool_id.split("/")
        schema = {"type": "object", "properties": {p: {"type": "string"} for p in properties}}
        raw = {"name": name, "description": description or tool_id, "inputSchema": schema}
        return CatalogTool(
            ToolRecord(number, 1, server, name, raw, hash="h", trusted_hash="h"),
            ServerRecord(
                1, server, ServerSpec("stdio", "k"), trusted=True, status=READ, problem=""
            ),
            on,
            pinned,
            "",
            TokenCount(number, "o200k_base", 1, 1, 1, 0, 0, tokens),
            "",
        )

    return row
