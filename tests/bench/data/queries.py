"""The project's own labelled queries over well-known servers, and the catalogue they are for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from app.core.errors import ToolcribError
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import SetTool

KINDS = ("single", "paraphrase", "multi", "none")
# how our queries call a server -> its name in the catalogue file
SERVERS = {
    "git": "mcp-server-git",
    "time": "mcp-server-time",
    "fetch": "mcp-server-fetch",
    "sqlite": "mcp-server-sqlite",
    "gmail": "gmail-autoauth",
    "calendar": "google-calendar",
    "maps": "google-maps",
}
# a second reading of the same package, with optional tools
_AGAIN = frozenset({"playwright-allcaps"})


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A query of ours; `gold` is empty where no tool fits."""

    query: str
    kind: str  # single | paraphrase (none of the tool's words) | multi | none
    gold: Gold


def own_queries() -> tuple[OwnQuery, ...]:
    """All of them; each line {"query", "gold": ["server/tool"], "kind", "alt"?}."""
    folder = files("resources").joinpath("queries")
    queries = []
    for name in ("natural.jsonl", "more.jsonl"):
        for line in folder.joinpath(name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            same = {o: tool for tool, others in row.get("alt", {}).items() for o in others}
            queries.append(OwnQuery(row["query"], row["kind"], Gold(tuple(row["gold"]), same)))
    return tuple(queries)


def servers_of(queries: Sequence[OwnQuery]) -> frozenset[str]:
    """The servers that queries are about."""
    return frozenset(tool.partition("/")[0] for query in queries for tool in query.gold.tools)


def read_servers(file: Path) -> tuple[SetTool, ...]:
    """The tools of a catalogue file, under the names of servers that our queries use."""
    ours = {name: short for short, name in SERVERS.items()}
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        return tuple(
            SetTool(ours.get(row["server"], row["server"]), str(tool["name"]), tool)
            for row in rows
            if row["server"] not in _AGAIN
            for tool in row["tools"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolcribError(
            f"{file} cannot be read as a catalogue: {error!r}.",
            'Each line needs {"server": NAME, "tools": [...]}.',
        ) from error


def missing(queries: Sequence[OwnQuery], tools: Sequence[SetTool]) -> tuple[str, ...]:
    """Expected tools that a catalogue does not hold."""
    there = {f"{tool.server}/{tool.name}" for tool in tools}
    wanted = {tool for query in queries for tool in query.gold.tools}
    return tuple(sorted(wanted - there))
