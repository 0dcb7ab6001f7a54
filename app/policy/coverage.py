"""Use of the tools that hosts get, server by server, and the tokens of those never used."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog, CatalogTool
from app.policy.usage import Usage


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool and its calls in the period observed."""

    row: CatalogTool
    calls: int
    last: float  # seconds since the epoch, 0: never


@dataclass(frozen=True, slots=True)
class ServerUse:
    """A server's tools that hosts may get, the costliest first."""

    server: str
    tools: tuple[ToolUse, ...]

    @property
    def tokens(self) -> int:
        """Tokens of these tools."""
        return sum(tool.row.cost for tool in self.tools)

    @property
    def never(self) -> tuple[CatalogTool, ...]:
        """The tools that were never called."""
        return tuple(tool.row for tool in self.tools if not tool.calls)

    @property
    def unused(self) -> int:
        """Tokens of the tools that were never called."""
        return sum(row.cost for row in self.never)

    @property
    def calls(self) -> int:
        """Calls of all of them."""
        return sum(tool.calls for tool in self.tools)

    @property
    def last(self) -> float:
        """When one of them was called last, 0: never."""
        return max((tool.last for tool in self.tools), default=0.0)


def coverage(catalog: Catalog, usage: Usage) -> tuple[ServerUse, ...]:
    """Servers with tools that hosts may get, the one with most tokens first."""
    by_server: dict[str, list[ToolUse]] = {}
    for row in catalog.shown:
        name = row.tool.tool_id
        use = ToolUse(row, usage.calls.get(name, 0), usage.last.get(name, 0.0))
        by_server.setdefault(row.server.name, []).append(use)
    made = [ServerUse(name, _costliest(tools)) for name, tools in by_server.items()]
    return tuple(sorted(made, key=lambda use: (-use.tokens, use.server)))


def _costliest(tools: Sequence[ToolUse]) -> tuple[ToolUse, ...]:
    return tuple(sorted(tools, key=lambda use: (-use.row.cost, use.row.tool.name)))
