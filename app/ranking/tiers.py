"""Tiers of a search's answer: tools that the user pinned before all others."""

from collections.abc import Sequence, Set

from app.core.settings import RoutingSettings
from app.ranking.gates import THETA
from app.ranking.ranked import RankedTool


def in_tiers(
    ranked: Sequence[RankedTool], pinned: Set[int], settings: RoutingSettings
) -> list[RankedTool]:
    """Pinned tools that fit the query first, then the rest without their namesakes.

    Semantic Tool Discovery, 4.1 to 4.4: what a person assigned goes before what was only found,
    and of tools with one name the earlier tier's stays. A pinned tool that the score gate would
    not let in by itself is left out: it is in the host's list anyway (4.4), as Toolcrib's own
    tools do. Where nothing else fits, nothing changes.
    """
    others = [tool for tool in ranked if tool.shown and tool.id not in pinned]
    if not pinned or not others:
        return list(ranked)
    needed = max(tool.score for tool in ranked if tool.shown) - settings.delta
    first = [t for t in ranked if t.id in pinned and t.shown and _fits(t, needed, settings)]
    names = {tool.name for tool in first}
    return first + [t for t in ranked if t.id not in pinned and t.name not in names]


def _fits(tool: RankedTool, needed: float, settings: RoutingSettings) -> bool:
    """True if the score gate would let a pinned tool in by itself."""
    if settings.cut == THETA and tool.iso is not None:
        return tool.iso >= settings.theta
    return tool.score >= needed
