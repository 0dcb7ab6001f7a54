"""The Tool Attention paper's testbed (arXiv 2604.21816, Table 2) rebuilt with our own texts."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from store.typed import Json
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import Labelled, QuerySet, SetTool

# per server of Table 2: tools, average tokens a schema; a curator's share of 30 (baseline B2)
TABLE_2 = {
    "github": (30, 520),
    "filesystem": (10, 180),
    "database": (20, 410),
    "slack": (15, 290),
    "web": (10, 220),
    "jira": (35, 470),
}
CURATED = {"github": 8, "filesystem": 2, "database": 5, "slack": 4, "web": 2, "jira": 9}
# sizes vary around the server's average as they do in real servers; the factors average 1
_INPUTS = Path(__file__).parents[1] / "inputs"
_SPREAD = (0.7, 1.2, 0.9, 1.3, 0.8, 1.1)
_READS = (
    "list",
    "get",
    "search",
    "read",
    "describe",
    "explain",
    "directory",
    "fetch",
    "web",
    "run",
)
_NUMBERS = {"limit", "count", "depth", "width", "days", "max_length", "sample", "minimum_ms"}
_FLAGS = {"draft", "private", "cascade", "unique", "analyze", "compress", "dry_run", "broadcast"}
_LISTS = {"labels", "assignees", "comments", "files", "rows", "columns", "fields", "keys", "users"}


@dataclass(frozen=True, slots=True)
class Testbed:
    """120 tools of six servers and the queries that are asked of them."""

    tools: tuple[SetTool, ...]
    queries: tuple[Labelled, ...]

    @property
    def as_set(self) -> QuerySet:
        """The testbed as a labelled query set."""
        return QuerySet("testbed", self.tools, {}, self.queries)

    @property
    def curated(self) -> frozenset[str]:
        """A curator's 30 tools (baseline B2): the commonest of each server."""
        chosen: set[str] = set()
        for server, count in CURATED.items():
            own = [tool for tool in self.tools if tool.server == server]
            chosen.update(tool_id(tool) for tool in own[:count])
        return frozenset(chosen)


def tool_id(tool: SetTool) -> str:
    """server/tool."""
    return f"{tool.server}/{tool.name}"


def read_testbed(counter: Counter) -> Testbed:
    """The testbed; its sizes are met under the given encoding (the paper's is cl100k_base)."""
    listed = files("resources").joinpath("queries", "testbed.toml").read_text(encoding="utf-8")
    servers = tomllib.loads(listed)
    # what servers add to every tool; taken in this order while a tool has room
    extras = json.loads((_INPUTS / "testbed_parameters.json").read_text(encoding="utf-8"))
    tools = [
        SetTool(server, raw["name"], raw)
        for server, about in servers.items()
        for raw in _sized(about["tools"], about["tokens"], extras, counter)
    ]
    lines = (_INPUTS / "testbed_queries.jsonl").read_text(encoding="utf-8").splitlines()
    return Testbed(tuple(tools), tuple(_labelled(json.loads(line)) for line in lines))


def changes_something(tool: SetTool) -> bool:
    """Whether a tool writes; such tools need authenticated(SERVER:write)."""
    return tool.name.split("_")[0] not in _READS


def _sized(lines: list[str], tokens: int, extras: Json, counter: Counter) -> Iterator[Json]:
    """Tools with their own parameters, and as many common ones as their size has room for."""
    for number, line in enumerate(lines):
        name, description, listed = (part.strip() for part in line.split("|"))
        wanted = round(tokens * _SPREAD[number % len(_SPREAD)])
        thing = " ".join(name.split("_")[1:]) or name
        own = {p: _parameter(p, thing) for p in listed.split(", ")}
        required = list(own)[:1]
        raw = {"name": name, "description": f"{description}."}
        for extra, schema in extras.items():
            larger = {**raw, "inputSchema": _schema({extra: schema} | own, required)}
            if extra not in own and counter.count(host_text(larger)) <= wanted:
                own[extra] = schema
        yield {**raw, "inputSchema": _schema(own, required)}


def _schema(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _parameter(name: str, thing: str) -> Json:
    words = name.replace("_", " ").capitalize()
    about = {"description": f"{words} of the {thing}"}
    if name in _NUMBERS or name.endswith(("_number", "_id")):
        return {"type": "integer", **about}
    if name in _FLAGS:
        return {"type": "boolean", "default": False, **about}
    if name in _LISTS:
        return {"type": "array", "items": {"type": "string"}, **about}
    return {"type": "string", **about}


def _labelled(row: Json) -> Labelled:
    same = dict.fromkeys(row.get("any", ()), row["gold"][0])
    return Labelled(row["query"], Gold(tuple(row["gold"]), same))
