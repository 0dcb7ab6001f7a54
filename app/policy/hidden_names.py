"""Names of tools in a server's own texts: its definitions and its answers to a search."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from app.catalog.behind import NAME_FIELDS
from app.policy.hiding import CALLS
from store.typed import Json, list_or_empty, object_or_empty

MOST = 5_000  # names taken from one server
_NAME = r"[A-Za-z][\w./:-]{1,99}"
_WHOLE = re.compile(_NAME)
_LINES = (
    re.compile(rf"<tool>\s*({_NAME})"),
    re.compile(rf"(?m)^\s*(?:[-*•]|\d+[.)]|#{{2,4}})\s+\**`?({_NAME})`?\**\s*(?:\(|:|[—–]|-\s|$)"),
    re.compile(rf"(?m)^\s*(?:tool|name):\s*`?({_NAME})`?\s*$", re.I),
)
_DEFINES = (
    "inputSchema",
    "input_schema",
    "parameters",
    "schema",
    "description",
    "args",
    "arguments",
)
_DEEPEST = 12
# what an answer says of a group of tools, and of no tool
_OF_GROUPS = frozenset(
    {"toolcount", "tool_count", "tools_count", "toolscount", "tools", "commands", "healthy",
     "state", "isdefault", "loaded"}
)  # fmt: skip


def named_in_definition(definition: Json, kind: str) -> set[str]:
    """Tools that a definition names: the values of its name argument, or those it lists."""
    fields = object_or_empty(object_or_empty(definition.get("inputSchema")).get("properties"))
    names: set[str] = set()
    if kind == CALLS:
        for field, value in fields.items():
            if str(field).lower().replace("-", "_") in NAME_FIELDS and isinstance(value, dict):
                names |= {one for one in value.get("enum") or () if _is_name(one)}
    text = definition.get("description")
    return names | (set(_LINES[0].findall(text)) if isinstance(text, str) else set())


def named_in_answer(result: Json) -> dict[str, Json]:
    """Tools that an answer names, each with its definition as far as it was given."""
    names = dict(_in_value(result.get("structuredContent"), 0))
    for part in result.get("content") or ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            names.update(_in_text(text))
    return dict(list(names.items())[:MOST])


def groups_in_answer(result: Json) -> list[str]:
    """Groups of tools that an answer names: servers, categories, toolsets."""
    names = list(_groups(result.get("structuredContent"), 0))
    for part in result.get("content") or ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            with suppress(ValueError, RecursionError):
                names += _groups(json.loads(text), 0)
    return list(dict.fromkeys(names))[:MOST]


def _groups(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    inner = list_or_empty(value)
    if isinstance(value, Mapping):
        name = value.get("name") or value.get("id")
        if _is_group(value) and _is_name(name):
            yield str(name)
            return
        inner = list(value.values())
    for one in inner:
        yield from _groups(one, depth + 1)


def _is_group(value: Mapping[str, Any]) -> bool:
    return any(str(key).lower() in _OF_GROUPS for key in value)


def _in_text(text: str) -> Iterator[tuple[str, Json]]:
    try:
        yield from _in_value(json.loads(text), 0)
        return
    except (ValueError, RecursionError):
        pass
    for pattern in _LINES:
        names = pattern.findall(text)
        if names:
            for name in names:
                yield name, {}
            return


def _in_value(value: Any, depth: int) -> Iterator[tuple[str, Json]]:
    """Objects with a name and a part of a definition, anywhere; and names that key such objects."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _in_value(one, depth + 1)
        return
    if not isinstance(value, Mapping):
        return
    name = value.get("name") or value.get("tool_name") or value.get("tool")
    if _is_name(name) and not _is_group(value) and any(key in value for key in _DEFINES):
        yield str(name), dict(value)
        return
    for key, one in value.items():
        if key in ("tools", "names", "tool_names") and isinstance(one, list):
            yield from ((text, {}) for text in one if _is_name(text))
        yield from _in_value(one, depth + 1)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _WHOLE.fullmatch(value) is not None
