"""Tools as they came, looked at one by one: a bad one is a row with its problem."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import jsonschema_rs

from app.core.scrubber import Scrubber
from app.indexing.raw_tools import NOTHING_SECRET, stored_forms
from app.indexing.reading import Limits
from store.records import NewTool
from store.typed import Json

_COMBINERS = ("anyOf", "oneOf", "allOf")
# servers rarely say which draft they mean, so a schema is usable when any of these takes it
_DRAFTS = (
    jsonschema_rs.Draft202012Validator,
    jsonschema_rs.Draft7Validator,
    jsonschema_rs.Draft4Validator,
)


def check_tools(
    entries: Iterable[Any], limits: Limits, scrubber: Scrubber = NOTHING_SECRET
) -> tuple[NewTool, ...]:
    """One row per entry of tools/list, in order, with what makes it unusable."""
    tools: list[NewTool] = []
    names: set[str] = set()
    for form in stored_forms(entries, scrubber, limits.tool_bytes):
        problem = form.problem or schema_problem(form.raw.get("inputSchema"))
        if form.name in names and not problem:
            problem = "Another tool of this server has the same name."
        names.add(form.name)
        tools.append(NewTool(form.name, form.raw, form.hash, problem))
    return tuple(tools)


def list_hash(tools: Sequence[NewTool]) -> str:
    """One hash of a whole list, whatever its order; a change of it is drift."""
    parts = sorted(f"{tool.name}\0{tool.hash}" for tool in tools)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def schema_notes(raw: Json) -> tuple[str, ...]:
    """Parts of a usable input schema that some hosts refuse, as sentences."""
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


def schema_problem(schema: object) -> str:
    """Reason that no host can use this input schema, "" when one can."""
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
        return str(getattr(error, "message", "") or error).strip().partition("\n")[0][:200]
    return ""
