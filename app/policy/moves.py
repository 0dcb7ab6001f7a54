"""The one list of moves that the window and the command line offer for a budget."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.catalog.catalog import CatalogTool
from app.policy.budget import Verdict
from app.policy.pruner import Move, PrunePlan, propose
from app.policy.suggestions import suggest
from app.policy.usage import Usage


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves that use has evidence for, then those that need no log; no tool is in two."""

    plan: PrunePlan
    suggestions: tuple[Move, ...]

    @property
    def all(self) -> tuple[Move, ...]:
        """Every move, in the order in which they are offered."""
        return (*self.plan.moves, *self.suggestions)


def moves_for(
    tools: Iterable[CatalogTool],
    outcome: Verdict,
    usage: Usage,
    *,
    host: str,
    limit: int,
) -> Moves:
    """Moves over `tools`, which one host's model gets, or those of all servers together.

    `host` is the host's name, "" for all servers together; `limit` is how many tools it takes, 0
    for no limit. `outcome` is the verdict on exactly these.
    """
    every = list(tools)
    plan = propose(every, outcome.budget, usage, outcome if host else None)
    return Moves(plan, suggest(every, plan, usage, host=host, limit=limit))
