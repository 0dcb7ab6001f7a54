"""Tools as they came, looked at one by one: a bad one is a row with its problem."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import jsonschema_rs

from app.discovery.reading import Limits
from store.records import Json, NewTool

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_LONGEST_KEPT = 2_000  # characters of an over-long tool's description
_COMBINERS = ("anyOf", "oneOf", "allOf")
# servers rarely say which draft they mean, so a schema is usable when any of these takes it
_DRAFTS = (
    jsonschema_rs.Draft202012Validator,
    jsonschema_rs.Draft7Validator,
    jsonschema_rs.Draft4Validator,
)


def check_tools(entries: Iterable[Any], limits: Limits) -> tuple[NewTool, ...]:
    """One row per entry of tools/list, in order, with what makes it unusable."""
    found: list[NewTool] = []
    names: set[str] = set()
    for position, entry in enumerate(entries, start=1):
        tool = _check(entry, position, limits)
        if tool.name in names and not tool.problem:
            problem = "Another tool of this server has the same name."
            tool = NewTool(tool.name, tool.raw, tool.hash, problem)
        names.add(tool.name)
        found.append(tool)
    return tuple(found)


def list_hash(tools: Sequence[NewTool]) -> str:
    """One hash of a whole list, whatever its order; a change of it is drift."""
    parts = sorted(f"{tool.name}\0{tool.hash}" for tool in tools)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def tool_hash(raw: Json) -> str:
    """The hash of a tool's text, whatever the order of its keys."""
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def schema_notes(raw: Json) -> tuple[str, ...]:
    """What some hosts refuse in an input schema that is usable all the same."""
    schema = raw.get("inputSchema")
    if not isinstance(schema, dict):
        return ()
    notes = []
    if "type" not in schema:
        notes.append("The input schema has no type; some hosts refuse such a tool.")
    combined = [word for word in _COMBINERS if word in schema]
    if combined:
        notes.append(f"The input schema has {combined[0]} at its root; some hosts refuse that.")
    return tuple(notes)


def clean(value: Any) -> Any:
    """The value with halves of surrogate pairs, which no database takes, replaced."""
    if isinstance(value, str):
        return _HALF_PAIR.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value


def _check(entry: Any, position: int, limits: Limits) -> NewTool:
    if not isinstance(entry, dict):
        return _bad(f"#{position}", {"value": entry}, "It is not an object.")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return _bad(f"#{position}", entry, "It has no name.")
    size = len(json.dumps(entry, ensure_ascii=False))
    if size > limits.tool_bytes:
        description = str(entry.get("description", ""))[:_LONGEST_KEPT]
        short = {"name": name, "description": description, "inputSchema": {"type": "object"}}
        return _bad(name, short, f"Its definition takes {size:,} characters; it was not kept.")
    return NewTool(name, entry, tool_hash(entry), schema_problem(entry.get("inputSchema")))


def _bad(name: str, raw: Json, problem: str) -> NewTool:
    return NewTool(name, raw, tool_hash(raw), problem)


def schema_problem(schema: Any) -> str:
    """Why no host can use this input schema, "" when one can."""
    if schema is None:
        return "It has no input schema."
    if not isinstance(schema, dict):
        return "Its input schema is not an object."
    kind = schema.get("type", "object")
    if kind != "object":
        return f"Its input schema is of type {json.dumps(kind)[:40]}, not object."
    problems = [_draft_problem(draft, schema) for draft in _DRAFTS]
    return "" if "" in problems else f"Its input schema cannot be used: {problems[0]}"


def _draft_problem(draft: Any, schema: Json) -> str:
    try:
        draft(
            schema, retriever=lambda _uri: {}
        )  # never the network: what is remote may be anything
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError) as error:
        return _first_line(str(getattr(error, "message", "") or error))
    return ""


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]
