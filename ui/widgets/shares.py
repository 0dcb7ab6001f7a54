"""Shares of servers in the tokens, largest first: one order of colours everywhere."""

from collections.abc import Sequence
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
COLORED = 7  # servers with a colour of their own; the others share a grey


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
    """Colours of servers: those of the largest, kept while a session lasts.

    A server that becomes one of the largest takes the colour of one that no longer is.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def arrange(self, names: Sequence[str]) -> None:
        """Give every server a place; `names` are in order of size."""
        largest = names[:COLORED]
        kept = {name: at for name, at in self._places.items() if name in largest and at < COLORED}
        free = (place for place in range(COLORED) if place not in kept.values())
        for name in largest:
            if name not in kept:
                kept[name] = next(free)
        for number, name in enumerate(names[COLORED:]):
            kept[name] = COLORED + number
        self._places = kept

    def of(self, name: str) -> int:
        """The place of a server that was arranged; it decides the colour."""
        return self._places[name]


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
    kept.arrange(order)
    return tuple(Share(n, kept.of(n), every[n], shown=shown[n]) for n in order)
