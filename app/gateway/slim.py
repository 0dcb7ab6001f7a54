"""Lossless slimming of tool schemas (SEP-1576): fewer tokens, the same arguments accepted."""

import json
import re
from collections.abc import Callable, Iterator

from store.typed import Json, compact_json, object_or_empty

NONE = "none"
PLAIN = "plain"  # what no client can tell: unused definitions, a superseded $schema
LOSSLESS = "lossless"  # also $schema, redundant titles, duplicates shared by $ref
STRONG = "strong"  # also additionalProperties: false; the gateway checks against the original

_NEW_DIALECT = r"https://json-schema\.org/draft/2020-12/schema#?"
_DIALECT = rf"(?:https?://json-schema\.org/draft-0[67]/schema#?|{_NEW_DIALECT})"
_DIALECT_TEXT = rf',"\$schema":"{_DIALECT}"|"\$schema":"{_DIALECT}",?'
# with one of these words the dialect matters, so $schema must stay
_DIALECT_WORDS = (
    "$anchor", "$defs", "$dynamicRef", "$id", "$recursiveRef", "$ref", "additionalItems",
    "definitions", "dependencies", "dependentRequired", "dependentSchemas", "maxContains",
    "minContains", "prefixItems", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_DEFINITIONS = ("$defs", "definitions")
_ANCHORS = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "id")
_ONE = frozenset((
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
))  # fmt: skip
_MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_ROOT = "#"  # the name of the whole schema, whose title only repeats the tool's
_LEAST_SAVED = 60  # characters; punctuation costs more tokens than words do
_SHORTEST_SHARED = 60  # characters; below, a reference costs more than it saves


def tool_text(raw: str, level: str) -> str:
    """A tool's JSON text, slimmed; parsed only where there is something to gain."""
    if level == NONE:
        return raw
    if level == PLAIN and "$defs" not in raw and '"definitions"' not in raw:
        if "$schema" not in raw:
            return raw
        simple = not any(f'"{word}"' in raw for word in _DIALECT_WORDS) and '"items":[' not in raw
        if simple and raw.count("$schema") == 1 and len(re.findall(_DIALECT_TEXT, raw)) == 1:
            return re.sub(_DIALECT_TEXT, "", raw)
    slimmed = tool(json.loads(raw), level)
    return compact_json(slimmed)


def tool(item: Json, level: str) -> Json:
    """A tool with its input schema slimmed."""
    schema = item.get("inputSchema")
    if level == NONE or not isinstance(schema, dict):
        return item
    return {**item, "inputSchema": slimmed(schema, level)}


def slimmed(schema: Json, level: str = LOSSLESS) -> Json:
    """A schema that accepts and rejects what `schema` does (but for STRONG), in fewer tokens."""
    anchored = any(word in node for node in _objects(schema) for word in _ANCHORS[:-1])
    result = schema if anchored else _without_unused(schema)
    result = _without_dialect(result, level)
    if level in (LOSSLESS, STRONG):
        result = _mapped(result, _ROOT, lambda node, name: _without_titles(node, name, level))
        result = result if anchored else _shared(result)
    return result


def _without_dialect(schema: Json, level: str) -> Json:
    dialect = schema.get("$schema")
    if not isinstance(dialect, str):
        return schema
    known = re.fullmatch(_DIALECT, dialect) and not _needs_dialect(schema)
    default = level != PLAIN and re.fullmatch(_NEW_DIALECT, dialect)  # what MCP takes it to be
    return {k: v for k, v in schema.items() if k != "$schema"} if known or default else schema


def _needs_dialect(schema: Json) -> bool:
    """True if drafts 6, 7 and 2020-12 might read the schema differently."""
    return any(
        isinstance(node.get("items"), list) or any(word in node for word in _DIALECT_WORDS)
        for node in _objects(schema)
    )


def _without_titles(node: Json, name: str, level: str) -> Json:
    drop = set()
    title = node.get("title")
    if isinstance(title, str) and (name == _ROOT or _plain(title) == _plain(name)):
        drop.add("title")
    if level == STRONG and node.get("additionalProperties") is False:
        drop.add("additionalProperties")
    return {k: v for k, v in node.items() if k not in drop} if drop else node


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


# ---- unused definitions


def _without_unused(schema: Json) -> Json:
    """Drop root definitions that nothing refers to."""
    present = [word for word in _DEFINITIONS if isinstance(schema.get(word), dict)]
    if not present:
        return schema
    rest = {k: v for k, v in schema.items() if k not in present}
    wanted: set[tuple[str, str]] = set()
    queue = list(_targets(rest))
    while queue:
        target = queue.pop()
        if target in wanted:
            continue
        wanted.add(target)
        queue += _targets(schema.get(target[0], {}).get(target[1]))
    result: Json = {}
    for key, value in schema.items():
        if key in present:
            value = {name: one for name, one in value.items() if (key, name) in wanted}
            if not value:
                continue
        result[key] = value
    return result


def _targets(value: object) -> Iterator[tuple[str, str]]:
    """(definitions word, name) of every local reference below a value."""
    for node in _objects(value):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            parts = _pointer(reference)
            if len(parts) > 1 and parts[0] in _DEFINITIONS:
                yield parts[0], parts[1]


def _pointer(reference: str) -> list[str]:
    parts = reference[2:].split("/")
    if "%" in reference:
        from urllib.parse import unquote

        parts = [unquote(part) for part in parts]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _objects(value: object) -> Iterator[Json]:
    """Every object below a value, data included: a reference in data only keeps more."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack += node.values()
        elif isinstance(node, list):
            stack += node


# ---- positions


def _mapped(schema: Json, name: str, change: Callable[[Json, str], Json]) -> Json:
    """The schema with `change` applied at every schema position, inner ones first.

    `name` is the property's or definition's, "" elsewhere.
    """
    result: Json = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            result[key] = {
                inner: _mapped(one, inner, change) if isinstance(one, dict) else one
                for inner, one in value.items()
            }
        elif key in _MANY and isinstance(value, list):
            result[key] = [_mapped(v, "", change) if isinstance(v, dict) else v for v in value]
        elif key in _ONE and isinstance(value, dict):
            result[key] = _mapped(value, "", change)
        else:
            result[key] = value
    return change(result, name)


# ---- duplicates


def _shared(schema: Json) -> Json:
    """Subschemas that occur more than once, moved to $defs where that is shorter."""
    seen: dict[str, int] = {}

    def count(node: Json, _name: str) -> Json:
        text = compact_json(node)
        if len(text) >= _SHORTEST_SHARED:
            seen[text] = seen.get(text, 0) + 1
        return node

    inner = {k: v for k, v in schema.items() if k not in _DEFINITIONS}
    _mapped(inner, "", count)
    repeated = sorted((t for t, n in seen.items() if n > 1), key=len, reverse=True)
    if not repeated:
        return schema
    return _share(schema, inner, repeated[0])


def _share(schema: Json, inner: Json, text: str) -> Json:
    """Share one subschema; kept only where the whole gets shorter, then look for the next."""
    definitions = dict(object_or_empty(schema.get("$defs")))
    number = 1
    while f"s{number}" in definitions:
        number += 1
    reference = {"$ref": f"#/$defs/s{number}"}

    def replace(node: Json, _name: str) -> Json:
        return dict(reference) if compact_json(node) == text else node

    changed = _mapped(inner, "", replace)
    definitions[f"s{number}"] = json.loads(text)
    kept = {k: v for k, v in schema.items() if k == "definitions"}
    candidate = {**changed, **kept, "$defs": definitions}
    if len(compact_json(candidate)) + _LEAST_SAVED > len(compact_json(schema)):
        return schema
    return _shared(candidate)
