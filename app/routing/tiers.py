"""Tiers of a search's answer: configured tools, then Toolcrib's own, then all others."""

from collections.abc import Iterable, Sequence

from app.routing.ranked import RankedTool


def in_tiers(
    ranked: Sequence[RankedTool],
    *,
    pinned: frozenset[int],
    own: Sequence[RankedTool] = (),
    always: frozenset[str] = frozenset(),
) -> list[RankedTool]:
    """Pinned tools first, then own tools, then the rest, each in its order of score.

    Of tools with the same name the one of the earlier tier stays; `always` (tool ids that the
    model has anyway) is left out (Semantic Tool Discovery, 4.4).
    """
    first = [tool for tool in ranked if tool.id in pinned]
    last = [tool for tool in ranked if tool.id not in pinned]
    tiers: Iterable[Sequence[RankedTool]] = (first, own, last)
    taken: dict[str, int] = {}
    answer = []
    for number, tier in enumerate(tiers):
        for tool in tier:
            # within a tier, equal names are different servers' tools and both stay
            if tool.tool_id in always or taken.get(tool.name, number) < number:
                continue
            taken[tool.name] = number
            answer.append(tool)
    return answer
