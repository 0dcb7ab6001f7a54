"""Splits a catalogue that no budget holds into several, one agent each (V13: split the agent)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.catalog.catalog import CatalogTool
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


def split(
    tools: Iterable[CatalogTool], budget: Budget, together: Iterable[Sequence[str]] = ()
) -> tuple[Part, ...]:
    """Parts that keep servers whole where they fit, and tools called `together` in one part.

    `together` holds the tool ids that sessions called (app.policy.sessions).
    """
    shown = [t for t in tools if t.shown]
    units = [u for server in _by_server(shown) for u in _units(server, budget)]
    units.sort(key=lambda u: (-u.cost, u.tools[0].tool.tool_id))
    left = _Remaining(units, _called_together(units, together))
    parts: list[list[CatalogTool]] = []
    while left.count:
        parts.append(left.fill(budget))
    return tuple(Part(_name(tools, n), tuple(tools)) for n, tools in enumerate(parts, 1))


class _Unit:
    """Tools that stay together, or a part while it is being filled."""

    def __init__(self, tools: Iterable[CatalogTool] = ()) -> None:
        self.tools: list[CatalogTool] = []
        self.cost = 0
        for tool in tools:
            self.add(tool)

    def add(self, tool: CatalogTool) -> None:
        """Put one more tool in."""
        self.tools.append(tool)
        self.cost += tool.cost

    def takes(self, cost: int, count: int, budget: Budget) -> bool:
        """True if so many tokens of so many tools still fit."""
        fits = self.cost + cost <= budget.limit
        return fits and not (budget.max_tools and len(self.tools) + count > budget.max_tools)


class _Remaining:
    """The units that are in no part yet, the costliest first.

    One part is filled at a time: when nothing fits it any more nothing ever will, as parts only
    grow.
    """

    def __init__(self, units: Sequence[_Unit], close: Mapping[int, Mapping[int, int]]) -> None:
        self.count = len(units)
        self._units = units
        self._close = close
        self._here = [True] * len(units)
        self._costs = [-unit.cost for unit in units]  # ascending
        self._cheapest = len(units) - 1
        self._first = 0
        self._of_server: dict[str, list[int]] = {}
        for number, unit in enumerate(units):
            self._of_server.setdefault(unit.tools[0].server.name, []).append(number)

    def fill(self, budget: Budget) -> list[CatalogTool]:
        """A part: the costliest unit, then the closest that fits; among equals the costliest."""
        while not self._here[self._first]:
            self._first += 1
        part = _Unit()
        called: Counter[int] = Counter()  # with units of this part, in one session
        served: Counter[str] = Counter()  # units of this part, by server
        following = dict.fromkeys(("", *self._of_server), 0)  # where to look on, by server
        number: int | None = self._first
        while number is not None:
            self._take(number, part)
            called.update(self._close.get(number, {}))
            served[self._units[number].tools[0].server.name] += 1
            number = self._next(part, budget, called, served, following)
        return part.tools

    def _take(self, number: int, part: _Unit) -> None:
        self._here[number] = False
        self.count -= 1
        for tool in self._units[number].tools:
            part.add(tool)

    def _next(
        self,
        part: _Unit,
        budget: Budget,
        called: Mapping[int, int],
        served: Mapping[str, int],
        following: dict[str, int],
    ) -> int | None:
        """The unit to put in next, None when none fits."""
        while self._cheapest >= 0 and not self._here[self._cheapest]:
            self._cheapest -= 1
        if self._cheapest < 0 or not part.takes(self._units[self._cheapest].cost, 1, budget):
            return None

        def fits(number: int) -> bool:
            unit = self._units[number]
            return self._here[number] and part.takes(unit.cost, len(unit.tools), budget)

        options = [
            (times + served.get(self._units[n].tools[0].server.name, 0), -n)
            for n, times in called.items()
            if fits(n)
        ]
        for name, times in served.items():
            numbers = self._of_server[name]
            at = following[name]
            while at < len(numbers) and not fits(numbers[at]):
                at += 1
            following[name] = at
            options += [(times, -numbers[at])] if at < len(numbers) else []
        if options:
            return -max(options)[1]
        # what costs more than there is room for is passed over at once
        room = bisect_left(self._costs, part.cost - budget.limit)
        at = max(following[""], room)
        while at < len(self._units) and not fits(at):
            at += 1
        following[""] = at
        return at if at < len(self._units) else None


def _by_server(tools: Sequence[CatalogTool]) -> list[list[CatalogTool]]:
    servers: dict[str, list[CatalogTool]] = {}
    for tool in tools:
        servers.setdefault(tool.server.name, []).append(tool)
    return list(servers.values())


def _units(server: list[CatalogTool], budget: Budget) -> list[_Unit]:
    """A server whole if it fits, else cut into runs of tools about the same object."""
    whole = _Unit(server)
    if _Unit().takes(whole.cost, len(server), budget):
        return [whole]
    units: list[_Unit] = []
    for tool in sorted(server, key=lambda t: (subject(t.tool.name), t.tool.name)):
        if not units or not units[-1].takes(tool.cost, 1, budget):
            units.append(_Unit())
        units[-1].add(tool)
    return units


def subject(name: str) -> str:
    """Subject of a tool, by its name: the words after the verb."""
    words = name.replace("-", "_").split("_")
    return "_".join(words[1:]).rstrip("s") or name


def _called_together(
    units: Sequence[_Unit], together: Iterable[Sequence[str]]
) -> dict[int, Counter[int]]:
    """Number of sessions that called two units, in both directions."""
    unit_of = {t.tool.tool_id: n for n, unit in enumerate(units) for t in unit.tools}
    close: dict[int, Counter[int]] = {}
    for session in together:
        called = {unit_of[tool] for tool in session if tool in unit_of}
        for one in called:
            close.setdefault(one, Counter()).update(called - {one})
    return close


def _name(tools: Sequence[CatalogTool], number: int) -> str:
    servers = [name for name, _n in Counter(t.server.name for t in tools).most_common()]
    more = f" and {len(servers) - 2} more" if len(servers) > 2 else ""
    return f"{number}. {', '.join(servers[:2])}{more}"
