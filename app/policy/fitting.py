"""Ticks for one server that stay inside the budget: those of its tools that fit a request first.

A tool whose name an installed one has comes last: it is the one that a model can do without.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog, CatalogTool
from app.core.errors import ToolcribError
from app.core.text import plural
from app.policy.budget import PASS, Budget, Verdict, verdict
from app.ranking.text import split_name


@dataclass(frozen=True, slots=True)
class Fit:
    """A proposal for one server; `on` and `off` are all of its usable tools, best first."""

    server: str
    on: tuple[CatalogTool, ...]
    off: tuple[CatalogTool, ...]
    without: Verdict  # without any of them
    all_on: Verdict
    proposed: Verdict
    doubles: tuple[tuple[str, str], ...] = ()  # tool, installed one of the same name

    @property
    def changes(self) -> int:
        """Number of ticks that the proposal changes."""
        return sum(not tool.on for tool in self.on) + sum(tool.on for tool in self.off)

    @property
    def text(self) -> str:
        """The proposal as sentences."""
        number = len(self.on) + len(self.off)
        if self.without.word != PASS:
            return (
                f"{_sums(self.without)} without {self.server}: no tool of it fits in."
                " Turn off others first."
            )
        if not self.off:
            return f"All {plural(number, 'tool')} of {self.server} fit in: {_sums(self.proposed)}."
        return (
            f"With all {plural(number, 'tool')} of {self.server}: {_sums(self.all_on)}."
            f" With {len(self.on)} of them: {_sums(self.proposed)}."
        )


def fit(catalog: Catalog, server: str, order: Sequence[int] = ()) -> Fit:
    """The proposal; raises ToolcribError for a server that is not there or was not read.

    `order` has ids of tools that fit a request, best first. Tools that wait in Review count as
    approved: ticks are chosen before or after that.
    """
    record = catalog.server(server)
    if record is None:
        raise ToolcribError(f"There is no server called {server}.", "See: toolcrib footprint")
    own = [tool for tool in catalog.of_server(record.id) if tool.usable]
    if not own:
        raise ToolcribError(
            f"{server} has no tool that could be ticked.", "Read its tools: toolcrib scan"
        )
    others = [tool for tool in catalog.shown if tool.tool.server_id != record.id]
    doubles = _doubles(own, others)
    own.sort(key=_key(order, {name for name, _other in doubles}))
    budget = Budget.from_settings(catalog.settings.budget)
    base, count = sum(tool.cost for tool in others), len(others)

    def with_tools(tools: Sequence[CatalogTool]) -> Verdict:
        return verdict(base + sum(tool.cost for tool in tools), count + len(tools), budget)

    chosen: list[CatalogTool] = []
    for tool in own:
        if tool.pinned or with_tools([*chosen, tool]).word == PASS:
            chosen.append(tool)
    left = tuple(tool for tool in own if tool not in chosen)
    return Fit(
        server, tuple(chosen), left, with_tools([]), with_tools(own), with_tools(chosen), doubles
    )


def _key(order: Sequence[int], doubles: set[str]) -> Callable[[CatalogTool], tuple[object, ...]]:
    """Pinned ones, then those of the request, doubles last, small before large."""
    places = {tool_id: place for place, tool_id in enumerate(order)}

    def key(tool: CatalogTool) -> tuple[object, ...]:
        place = places.get(tool.tool.id, len(places))
        return (not tool.pinned, tool.tool.name in doubles, place, tool.cost, tool.tool.name)

    return key


def _doubles(
    own: Sequence[CatalogTool], others: Sequence[CatalogTool]
) -> tuple[tuple[str, str], ...]:
    installed = {split_name(one.tool.name): one.tool.tool_id for one in reversed(others)}
    pairs = ((tool.tool.name, installed.get(split_name(tool.tool.name), "")) for tool in own)
    return tuple(pair for pair in pairs if pair[1])


def _sums(one: Verdict) -> str:
    cap = one.budget.max_tools
    tools = f", {one.tools} of {cap} tools" if cap else ""
    return f"{one.word}, {one.tokens:,} of {one.budget.limit:,} tokens{tools}"
