"""Suggestions before any tool was called: limits, long descriptions, the largest.

None of these is chosen for a budget by itself: a size says where to look, not what to lose.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.pruner import COSTLY, RARE_CALLS, Move, PrunePlan
from app.policy.usage import Usage

LONG = 300  # tokens of a description from which it is called long
LARGEST = 5  # tools named as the largest
_FULL, _ROOM = 0.9, 0.8  # of a host's own limit: near it, and what is aimed at then


def suggest(
    tools: Iterable[CatalogTool], plan: PrunePlan, usage: Usage, *, host: str = "", limit: int = 0
) -> tuple[Move, ...]:
    """Moves over the tools shown beside those of the plan, no tool twice.

    `limit` is how many tools the host takes, 0 for no limit. The last one has what all the others
    lack for the budget. What is pinned, or called more than rarely, is never proposed.
    """
    shown = [tool for tool in tools if tool.shown]
    taken = {number for move in plan.moves for number in move.tool_ids}
    left = [t for t in shown if not t.pinned and t.tool.id not in taken]
    left = [t for t in left if usage.calls.get(t.tool.tool_id, 0) <= RARE_CALLS]
    left.sort(key=lambda tool: (-tool.cost, tool.tool.tool_id))
    moves: list[Move] = []
    if limit and len(shown) >= _FULL * limit and host:
        moves += _beyond(left, len(shown), host, limit)
        left = left[len(moves[0].tools) :] if moves else left
    long = [tool for tool in left if _description(tool) >= LONG]
    if long:
        title = f"{plural(len(long), 'tool')} with a description of {LONG} tokens and more"
        moves.append(_move("long description", title, long, _described(long)))
        left = [tool for tool in left if tool not in long]
    if largest := [tool for tool in left if tool.cost >= COSTLY][:LARGEST]:
        title = f"The {plural(len(largest), 'tool')} that take{'s' * (len(largest) == 1)} most"
        if len(left) < len(shown):  # larger ones may be in another move, or be pinned
            title = f"{plural(len(largest), 'tool')}, the largest of the others"
        share = 100 * sum(t.cost for t in largest) / sum(t.cost for t in shown)
        evidence = f"{share:.0f} % of all that is on. It is not known yet if they are needed."
        moves.append(_move("largest", title, largest, evidence))
        left = left[len(largest) :]
    return (*moves, *_the_rest(left, plan, moves))


def _the_rest(
    largest_first: Sequence[CatalogTool], plan: PrunePlan, moves: Sequence[Move]
) -> list[Move]:
    """The fewest more tools with which all that is proposed suffices; none where nothing would."""
    gone = [tool for move in (*plan.moves, *moves) for tool in move.tools]
    tokens, number = plan.needed - sum(t.cost for t in gone), plan.needed_tools - len(gone)
    freed = accumulate(tool.cost for tool in largest_first)
    enough = (n for n, saved in enumerate(freed, 1) if saved >= tokens and n >= number)
    more = largest_first[: next(enough, 0)]
    if not more or (tokens <= 0 and number <= 0):
        return []
    title = f"{plural(len(more), 'tool')} more, the next largest"
    evidence = "With all of the above this is enough. It is not known yet if they are needed."
    return [_move("next largest", title, more, evidence)]


def _beyond(largest_first: Sequence[CatalogTool], shown: int, host: str, limit: int) -> list[Move]:
    tools = largest_first[: shown - int(_ROOM * limit)]
    if not tools:
        return []
    title = (
        f"{plural(len(tools), 'tool')}, the largest, as {host} takes {limit:,} and {shown:,} are on"
    )
    evidence = f"{shown - len(tools)} would be left, which leaves room for new ones."
    return [_move("host limit", title, tools, evidence)]


def _move(kind: str, title: str, tools: Sequence[CatalogTool], evidence: str) -> Move:
    return Move(kind, title, tuple(tools), sum(tool.cost for tool in tools), evidence)


def _description(tool: CatalogTool) -> int:
    """Tokens of a description that is sent; a host that defers tools sends the name alone."""
    tokens = tool.tokens.description if tool.tokens else 0
    return tokens if tool.cost >= tokens else 0


def _described(tools: Sequence[CatalogTool]) -> str:
    named = ", ".join(f"{t.tool.tool_id} ({_description(t):,})" for t in tools[:LARGEST])
    return f"Tokens of the description alone: {named}."
