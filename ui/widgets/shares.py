"""How the tokens divide among servers, largest first: one order of colours everywhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.catalog.catalog import Catalog, CatalogTool


@dataclass(frozen=True, slots=True)
class Share:
    """One server's part."""

    server: str
    place: int  # in the order of size: decides the colour
    every: int  # tokens of all its tools
    shown: int  # tokens of those a host may get


MENU = "Toolcrib's menu"


def host_shares(
    catalog: Catalog,
    tools: Sequence[CatalogTool],
    tokens: int,
    places: "ServerPlaces | None" = None,
) -> tuple[Share, ...]:
    """The same servers in the same colours, with what one host's model gets of each.

    `tokens` are those of the host in all: what is over its tools is the gateway's own menu.
    """
    sent: dict[str, int] = {}
    for tool in tools:
        sent[tool.server.name] = sent.get(tool.server.name, 0) + tool.cost
    shares = [replace(s, shown=sent.get(s.server, 0)) for s in server_shares(catalog, places)]
    menu = tokens - sum(sent.values())
    return (*shares, *([Share(MENU, len(shares), menu, menu)] if menu > 0 else []))


class ServerPlaces:
    """Which colour each server has: given by size at first sight, then kept."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    @property
    def names(self) -> tuple[str, ...]:
        """The servers in the order of their places."""
        return tuple(self._places)

    def of(self, name: str) -> int:
        """The server's place; one that was not seen yet gets the next."""
        return self._places.setdefault(name, len(self._places))


def server_shares(catalog: Catalog, places: ServerPlaces | None = None) -> tuple[Share, ...]:
    """Servers with their tokens, largest first; ticks do not change the order.

    `places` keep colours; without them a server's place is that of its size.
    """
    every: dict[str, int] = {s.name: 0 for s in catalog.servers}
    shown = dict(every)
    for tool in catalog.tools:
        if not tool.tool.gone:
            every[tool.server.name] += tool.cost
            shown[tool.server.name] += tool.cost if tool.shown else 0
    order = sorted(every, key=lambda name: (-every[name], name))
    kept = places or ServerPlaces()
    return tuple(Share(n, kept.of(n), every[n], shown=shown[n]) for n in order)
