"""Cost of tools in tokens: per field of one tool, and summed over a catalogue."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.catalog.catalog import CatalogTool
from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from store.records import TokenCount, ToolRecord
from store.typed import compact_json


@dataclass(frozen=True, slots=True)
class ServerFootprint:
    """Tools and tokens of one server: all of them, and those that are shown."""

    name: str
    tools: int = 0
    tokens: int = 0
    shown_tools: int = 0
    shown_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Footprint:
    """Sums over a catalogue, in host-text tokens of one named encoding; servers by cost."""

    encoding: str
    servers: tuple[ServerFootprint, ...]

    @property
    def tools(self) -> int:
        """Tools of all servers."""
        return sum(s.tools for s in self.servers)

    @property
    def tokens(self) -> int:
        """Tokens of all tools."""
        return sum(s.tokens for s in self.servers)

    @property
    def shown_tools(self) -> int:
        """Tools a host gets."""
        return sum(s.shown_tools for s in self.servers)

    @property
    def shown_tokens(self) -> int:
        """Tokens a host gets."""
        return sum(s.shown_tokens for s in self.servers)


def count_tool(counter: Counter, tool: ToolRecord) -> TokenCount:
    """Tokens of a tool per field and of its generic host text; an absent field counts 0."""
    raw = tool.raw
    fields = {
        "input_schema": "inputSchema",
        "output_schema": "outputSchema",
        "annotations": "annotations",
    }
    counts = {
        field: counter.count(compact_json(raw[key])) if raw.get(key) is not None else 0
        for field, key in fields.items()
    }
    return TokenCount(
        tool_id=tool.id,
        encoding=counter.encoding,
        name=counter.count(tool.name),
        description=counter.count(tool.description),
        host_text=counter.count(host_text(raw)),
        **counts,
    )


def footprint(rows: Iterable[CatalogTool], encoding: str) -> Footprint:
    """The cost of these rows by server; tools that are gone do not count."""
    servers: dict[str, list[CatalogTool]] = {}
    for row in rows:
        if not row.tool.gone:
            servers.setdefault(row.server.name, []).append(row)
    sums = [_server(name, held) for name, held in servers.items()]
    return Footprint(encoding, tuple(sorted(sums, key=lambda s: (-s.tokens, s.name))))


def _server(name: str, rows: list[CatalogTool]) -> ServerFootprint:
    shown = [row for row in rows if row.shown]
    return ServerFootprint(
        name,
        tools=len(rows),
        tokens=sum(row.cost for row in rows),
        shown_tools=len(shown),
        shown_tokens=sum(row.cost for row in shown),
    )
