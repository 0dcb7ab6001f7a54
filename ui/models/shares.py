"""How the tokens divide among servers, largest first: one order of colours everywhere."""

from dataclasses import dataclass

from app.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Share:
    """One server's part."""

    server: str
    place: int  # in the order of size: decides the colour
    every: int  # tokens of all its tools
    shown: int  # tokens of those a host may get


def server_shares(catalog: Catalog) -> tuple[Share, ...]:
    """Servers with their tokens, largest first; ticks do not change the order."""
    every: dict[str, int] = {s.name: 0 for s in catalog.servers}
    shown = dict(every)
    for tool in catalog.tools:
        if not tool.tool.gone:
            every[tool.server.name] += tool.cost
            shown[tool.server.name] += tool.cost if tool.shown else 0
    order = sorted(every, key=lambda name: (-every[name], name))
    return tuple(Share(n, place, every[n], shown=shown[n]) for place, n in enumerate(order))
