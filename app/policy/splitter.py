"""Splits a catalogue that no budget holds into several, one agent each (V13: split the agent)."""

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from app.catalog import CatalogTool
from app.policy.budget import Budget


@dataclass(frozen=True, slots=True)
class Part:
    """The tools of one narrow agent; within the budget unless a single tool is over it."""

    name: str
    tools: tuple[CatalogTool, ...]

    @property
    def tokens(self) -> int:
        """Their host-text tokens."""
        return sum(t.cost for t in self.tools)

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of their servers."""
        return tuple(dict.fromkeys(t.server.name for t in self.tools))


@dataclass(slots=True)
class _Bin:
    """A part while it is being filled, with the numbers of its units."""

    tools: list[CatalogTool] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    cost: int = 0

    def add(self, unit: Sequence[CatalogTool], number: int = 0) -> None:
        self.tools += unit
        self.units.append(number)
        self.cost += _cost(unit)


def split(
    tools: Iterable[CatalogTool], budget: Budget, together: Iterable[Sequence[str]] = ()
) -> tuple[Part, ...]:
    """Parts that keep servers whole where they fit, and tools called `together` in one part.

    `together` holds the tool ids that sessions called (store.events.called_together).
    """
    shown = [t for t in tools if t.shown]
    units = [u for server in _by_server(shown) for u in _units(server, budget)]
    units.sort(key=lambda u: (-_cost(u), u[0].tool.tool_id))
    close = _closeness(units, together)
    left = dict(enumerate(units))
    bins: list[_Bin] = []
    while left:
        options = [(b, n) for b in bins for n, u in left.items() if _fits(b, u, budget)]
        # the closest pair; among equals the largest unit into the oldest part
        best = max(
            options,
            key=lambda o: (sum(close[min(n, o[1]), max(n, o[1])] for n in o[0].units), -o[1]),
            default=None,
        )
        into, number = best or (_Bin(), min(left))
        if best is None:
            bins.append(into)
        into.add(left.pop(number), number)
    return tuple(Part(_name(b.tools, n), tuple(b.tools)) for n, b in enumerate(bins, 1))


def _by_server(tools: Sequence[CatalogTool]) -> list[list[CatalogTool]]:
    servers: dict[str, list[CatalogTool]] = {}
    for tool in tools:
        servers.setdefault(tool.server.name, []).append(tool)
    return list(servers.values())


def _units(server: list[CatalogTool], budget: Budget) -> list[list[CatalogTool]]:
    """A server whole if it fits, else cut into runs of tools about the same object."""
    empty = _Bin()
    if _fits(empty, server, budget):
        return [server]
    units: list[_Bin] = []
    for tool in sorted(server, key=lambda t: (_object(t.tool.name), t.tool.name)):
        if not units or not _fits(units[-1], [tool], budget):
            units.append(_Bin())
        units[-1].add([tool])
    return [u.tools for u in units]


def _object(name: str) -> str:
    """What a tool is about, by its name: the words after the verb."""
    words = name.replace("-", "_").split("_")
    return "_".join(words[1:]).rstrip("s") or name


def _fits(part: _Bin, unit: Sequence[CatalogTool], budget: Budget) -> bool:
    if part.cost + _cost(unit) > budget.limit:
        return False
    return not budget.max_tools or len(part.tools) + len(unit) <= budget.max_tools


def _cost(unit: Sequence[CatalogTool]) -> int:
    return sum(t.cost for t in unit)


def _closeness(
    units: Sequence[Sequence[CatalogTool]], together: Iterable[Sequence[str]]
) -> Tally[tuple[int, int]]:
    """How often two units were called in one session; one more if they share a server."""
    unit_of = {t.tool.tool_id: n for n, unit in enumerate(units) for t in unit}
    close: Tally[tuple[int, int]] = Tally()
    for session in together:
        called = sorted({unit_of[tool] for tool in session if tool in unit_of})
        close.update(combinations(called, 2))
    for a, b in combinations(range(len(units)), 2):
        close[a, b] += units[a][0].server.name == units[b][0].server.name
    return close


def _name(tools: Sequence[CatalogTool], number: int) -> str:
    servers = [name for name, _n in Tally(t.server.name for t in tools).most_common()]
    more = f" and {len(servers) - 2} more" if len(servers) > 2 else ""
    return f"{number}. {', '.join(servers[:2])}{more}"
