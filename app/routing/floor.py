"""The floor: a cosine below which no tool of this catalogue fits, found with chit-chat.

It depends on the catalogue (from .19 to .39 over public sets), so it is calibrated for each.
"""

import json
from collections.abc import Sequence
from importlib.resources import files

from app.routing.router import Router

# This share of the project's own chit-chat is refused: in the mean of the eight public sets it
# refuses 72 % of other chit-chat and .9 % of good queries (.7: 77 % and 1.03 %).
REFUSED = 0.65
FALSE_REFUSALS = 0.01  # of known good queries, at most
_POOL = 100  # best tools by score; the nearest by meaning is among them


def own_chit_chat(kind: str = "chit-chat") -> tuple[str, ...]:
    """The project's small talk that no tool should answer; `chit-chat-heldout` is for judging."""
    file = files("resources").joinpath("queries", "chit_chat.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple(row["query"] for row in rows if row["kind"] == kind)


def nearest_iso(router: Router, query: str) -> float:
    """The best cosine of a query with any tool that a host may get; 0 without an encoder."""
    found = router.score(query, limit=_POOL, learned=False).candidates
    return max((c.iso for c in found if c.iso is not None), default=0.0)


def calibrated_floor(chit_chat: Sequence[float], good: Sequence[float] = ()) -> float:
    """The floor from the best cosines of chit-chat, and of queries known to have a tool.

    Without any chit-chat it is 0, which refuses nothing.
    """
    if not chit_chat:
        return 0.0
    floor = quantile(chit_chat, REFUSED)
    if good:
        floor = min(floor, quantile(good, FALSE_REFUSALS))
    return round(floor, 3)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them stay under, between neighbours in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
