"""Labelled query sets on disk: folders with catalogue.jsonl and queries*.jsonl."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from store.servers import plain_name
from store.typed import Json, JsonMapping
from tests.bench.data.metrics import Gold


@dataclass(frozen=True, slots=True)
class SetTool:
    """A tool of a public set."""

    server: str
    name: str
    raw: JsonMapping  # as a tools/list entry


@dataclass(frozen=True, slots=True)
class Labelled:
    """A query with the tools it should find."""

    query: str
    gold: Gold


@dataclass(frozen=True, slots=True)
class QuerySet:
    """A catalogue and its labelled queries."""

    name: str
    tools: tuple[SetTool, ...]
    servers: Mapping[str, str]  # name -> description
    queries: tuple[Labelled, ...]


def read_sets(data: Path) -> tuple[QuerySet, ...]:
    """Every set below a folder, by name; raises ToolcribError when there is none."""
    folders = sorted({file.parent for file in data.rglob("catalogue.jsonl")})
    sets = tuple(read_set(folder) for folder in folders if any(folder.glob("queries*.jsonl")))
    if not sets:
        raise ToolcribError(
            f"There are no query sets below {data}.",
            "A set is a folder with catalogue.jsonl and queries.jsonl.",
        )
    return sets


def read_set(folder: Path) -> QuerySet:
    """One set, its servers named as a store names them; queries without a label are left out."""
    servers = folder / "servers.jsonl"
    described = _lines(servers) if servers.exists() else iter(())
    queries = [row for file in sorted(folder.glob("queries*.jsonl")) for row in _lines(file)]
    listed = list(_lines(folder / "catalogue.jsonl"))
    ids = {f"{r['server']}/{r['name']}": f"{plain_name(r['server'])}/{r['name']}" for r in listed}
    return QuerySet(
        folder.name,
        tuple(_tool(row) for row in listed),
        {plain_name(row["server"]): row.get("description") or "" for row in described},
        tuple(Labelled(row["query"], _gold(row, ids)) for row in queries if row.get("gold")),
    )


def _tool(row: JsonMapping) -> SetTool:
    raw = {
        "name": row["name"],
        "description": row.get("description") or "",
        "inputSchema": row.get("input_schema") or {"type": "object"},
    }
    return SetTool(plain_name(row["server"]), row["name"], raw)


def _gold(row: JsonMapping, ids: Mapping[str, str]) -> Gold:
    """A query's gold tools, by the ids that a store gives them."""
    alike = (row.get("alt") or {}).items()
    same = {ids.get(o, o): ids.get(tool, tool) for tool, others in alike for o in others}
    gold = tuple(dict.fromkeys(ids.get(tool, tool) for tool in row["gold"]))
    grades = {ids.get(tool, tool): grade for tool, grade in (row.get("grades") or {}).items()}
    return Gold(gold, {o: t for o, t in same.items() if o not in gold}, grades)


def _lines(file: Path) -> Iterator[Json]:
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield json.loads(line)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ToolcribError(
            f"{file} cannot be read: {error}.", "Use JSON, one object a line."
        ) from error
