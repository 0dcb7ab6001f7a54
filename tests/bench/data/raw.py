"""Queries as people type and paste them; their gold was written before any run.

Set 1: 240 over 34 servers of the registry, whose tools the shipped pack knows. Set 2: 220 over 20
servers (raw_servers_2.json: package, version, licence) that were started and read for it, of which
neither the pack nor a public set knows a tool. Set 3: 120 in six further languages over the servers
of both.
"""

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.data.metrics import Gold
from tests.bench.data.sets import SetTool

KINDS = ("short", "other", "trace", "steps", "none")
HALVES = ("open", "kept")
SETS = (1, 2, 3)
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


def raw_queries(half: str, number: int = 1) -> tuple[RawQuery, ...]:
    """The queries of one half of a set, in the order of the file."""
    name = "raw_queries.jsonl" if number == 1 else f"raw_queries_{number}.jsonl"
    lines = (_INPUTS / name).read_text(encoding="utf-8").splitlines()
    queries = []
    for line in lines:
        row = json.loads(line)
        same = {other: tool for tool, others in row.get("alt", {}).items() for other in others}
        gold = Gold(tuple(row["gold"]), same)
        queries.append(RawQuery(row["query"], row["kind"], row["language"], gold))
    return tuple(query for query in queries if query.half == half)


def raw_servers(registry: Sequence[SetTool]) -> tuple[SetTool, ...]:
    """The tools of the first set's servers, under the short names that people give them."""
    names = json.loads((_INPUTS / "raw_servers.json").read_text(encoding="utf-8"))
    short = {package: name for name, package in names.items()}
    return tuple(
        replace(tool, server=short[tool.server]) for tool in registry if tool.server in short
    )


def model_requests() -> dict[str, tuple[str, ...]]:
    """Requests that a model wrote for the second set's tools, by server/tool."""
    packed = (_INPUTS / "raw_requests_2.json.gz").read_bytes()
    rows = json.loads(gzip.decompress(packed))
    return {tool: tuple(texts) for tool, texts in rows.items()}


def listed_tools() -> tuple[SetTool, ...]:
    """The tools of the second set's servers, as the servers list them."""
    packed = (_INPUTS / "raw_tools_2.jsonl.gz").read_bytes()
    rows = map(json.loads, gzip.decompress(packed).decode().splitlines())
    return tuple(SetTool(row.pop("server"), row["name"], row) for row in rows)
