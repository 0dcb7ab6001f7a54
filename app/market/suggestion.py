"""The third tier of a model's search: what could be installed, named and never more than that.

After Semantic Tool Discovery, section 10. A stranger's list is no text for a model: of an entry it
gets the name and plainly spelled names of tools, and nothing of one that the scanner doubts.
"""

import re
from dataclasses import dataclass

from app.market.details import doubts
from app.market.entry import ACTIVE
from app.market.index import MarketIndex, ServerHit
from app.market.launch import can_be_added
from app.market.records import entry_of

MOST = 2  # servers that are named
_TOOLS = 3  # of each
_SURE = (
    0.45  # cosine from which a listed server is named: a wrong one costs the user more than none
)
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
HEAD = "Not installed, ask the user (Toolcrib, Find servers):"
TEAM_HEAD = "Not installed in the team, ask an editor of the team to add it:"


@dataclass(frozen=True, slots=True)
class Installable:
    """A listed server that fits a request, and its tools that do."""

    name: str
    tools: tuple[str, ...]

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.name}: {', '.join(self.tools)}"


def suggestion(index: MarketIndex, query: str, head: str = HEAD) -> str:
    """Lines on listed servers that fit a request, "" where none does or meaning is unknown."""
    lines = [f"- {one.text}" for one in installable(index, query)]
    return "\n".join([head, *lines]) if lines else ""


def installable(index: MarketIndex, query: str) -> tuple[Installable, ...]:
    """Listed servers that fit a request; none where meaning is unknown."""
    if index.encoder is None:
        return ()
    hits = index.find(query, 2 * MOST + 4).hits
    return tuple(one for hit in hits if (one := _installable(hit)))[:MOST]


def _installable(hit: ServerHit) -> Installable | None:
    """One server with its fitting tools, None where it is not to be named."""
    entry = entry_of(hit.server)
    names = [tool.name for tool in hit.tools if _PLAIN.fullmatch(tool.name)][:_TOOLS]
    usable = entry.status == ACTIVE and can_be_added(entry)
    if (hit.cosine or 0.0) < _SURE or not names or not usable or doubts(entry):
        return None
    return Installable(entry.name, tuple(names))
