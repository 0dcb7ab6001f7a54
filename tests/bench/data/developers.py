"""120 queries as developers type them over the real servers, and as an agent would word them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from store.typed import JsonMapping
from tests.bench.data.metrics import Gold

KINDS = ("plain", "typo", "foreign", "steps", "none")


@dataclass(frozen=True, slots=True)
class DeveloperQuery:
    """One query; `gold` is empty where no tool fits, with a tool a step where it has several."""

    query: str
    agent: tuple[str, ...]  # as an agent would search for it, one text a step
    kind: str  # plain | typo | foreign (not in English) | steps | none
    gold: Gold

    def steps(self) -> Iterator[tuple[str, Gold]]:
        """Each of the agent's searches with what it should find."""
        if len(self.agent) == 1:
            yield self.agent[0], self.gold
            return
        for text, tool in zip(self.agent, self.gold.tools, strict=True):
            yield text, Gold((tool,), {o: t for o, t in self.gold.same.items() if t == tool})


def developer_queries() -> tuple[DeveloperQuery, ...]:
    """All of them, in the order of the file."""
    file = files("resources").joinpath("queries", "developers.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple(
        DeveloperQuery(row["query"], tuple(row["agent"]), row["kind"], _gold(row)) for row in rows
    )


def _gold(row: JsonMapping) -> Gold:
    same = {other: tool for tool, others in row.get("alt", {}).items() for other in others}
    return Gold(tuple(row["gold"]), same)
