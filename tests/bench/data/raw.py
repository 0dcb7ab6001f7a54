"""240 queries as people type and paste them, over 34 servers; gold written before any run."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.data.metrics import Gold
from tests.bench.data.sets import SetTool

KINDS = ("short", "other", "trace", "steps", "none")
HALVES = ("open", "kept")
_INPUTS = Path(__file__).parent.parent / "inputs"


@dataclass(frozen=True, slots=True)
class RawQuery:
    """One query; `gold` is empty where no tool fits, in the order of the steps elsewhere."""

    query: str
    kind: str  # short | other (another language) | trace | steps | none
    language: str
    gold: Gold

    @property
    def half(self) -> str:
        """The half that it is in: `open` for tuning, `kept` for the end."""
        return HALVES[hashlib.sha256(self.query.encode()).digest()[0] % 2]


def raw_queries(half: str) -> tuple[RawQuery, ...]:
    """The queries of one half, in the order of the file."""
    lines = (_INPUTS / "raw_queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = []
    for line in lines:
        row = json.loads(line)
        same = {other: tool for tool, others in row.get("alt", {}).items() for other in others}
        gold = Gold(tuple(row["gold"]), same)
        queries.append(RawQuery(row["query"], row["kind"], row["language"], gold))
    return tuple(query for query in queries if query.half == half)


def raw_servers(registry: Sequence[SetTool]) -> tuple[SetTool, ...]:
    """The tools of the queries' servers, under the short names that people give them."""
    names = json.loads((_INPUTS / "raw_servers.json").read_text(encoding="utf-8"))
    short = {package: name for name, package in names.items()}
    return tuple(
        replace(tool, server=short[tool.server]) for tool in registry if tool.server in short
    )
