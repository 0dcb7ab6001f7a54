"""A quick look at a call's arguments: sure that they fit their schema, or not sure.

Most calls are right and most schemas plain. The validator is loaded (7 MB) for the others only.
"""

from collections.abc import Callable, Mapping
from typing import Any

from app.gateway.protocol import Json

_ANNOTATIONS = frozenset(
    (
        *("$schema", "$comment", "$defs", "definitions", "title", "description", "default"),
        *("examples", "deprecated", "readOnly", "writeOnly"),
    )
)


def fits(schema: Json, value: object) -> bool:
    """Whether the value surely satisfies the schema; False where only a validator can say."""
    try:
        return _fits(schema, value, schema)
    except RecursionError:  # a schema that refers to itself, or a very deep value
        return False


def _fits(schema: object, value: object, root: Json) -> bool:
    if schema is True:
        return True
    if not isinstance(schema, dict):
        return False
    for keyword, asked in schema.items():
        if keyword in _ANNOTATIONS or keyword.startswith("x-"):
            continue
        check = _CHECKS.get(keyword)
        if check is None or not check(asked, value, schema, root):
            return False
    return True


def _local(reference: object, root: Json) -> object:
    """What #/$defs/NAME or #/definitions/NAME means."""
    parts = reference.split("/") if isinstance(reference, str) else []
    if len(parts) != 3 or parts[0] != "#" or "$id" in root:
        return False
    named = root.get(parts[1])
    return named.get(parts[2], False) if isinstance(named, dict) else False


def _reference(asked: object, value: object, _schema: Json, root: Json) -> bool:
    return _fits(_local(asked, root), value, root)


def _is_a(name: object, value: object) -> bool:
    if not isinstance(name, str):
        return False
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int):
        return name in ("integer", "number")
    if isinstance(value, float):
        return name == "number"
    kinds: dict[str, type | None] = {"string": str, "object": dict, "array": list, "null": None}
    kind = kinds.get(name, bool)
    return value is None if kind is None else isinstance(value, kind)


def _type(asked: object, value: object, _schema: Json, _root: Json) -> bool:
    names = asked if isinstance(asked, list) else [asked]
    return any(_is_a(name, value) for name in names)


def _enum(asked: object, value: object, _schema: Json, _root: Json) -> bool:
    return isinstance(asked, list) and isinstance(value, str) and value in asked


def _const(asked: object, value: object, _schema: Json, _root: Json) -> bool:
    return isinstance(value, str) and value == asked


def _properties(asked: object, value: object, _schema: Json, root: Json) -> bool:
    if not isinstance(value, dict):
        return True
    if not isinstance(asked, dict):
        return False
    return all(_fits(asked[name], value[name], root) for name in value if name in asked)


def _required(asked: object, value: object, _schema: Json, _root: Json) -> bool:
    if not isinstance(value, dict):
        return True
    return isinstance(asked, list) and all(isinstance(n, str) and n in value for n in asked)


def _additional(asked: object, value: object, schema: Json, root: Json) -> bool:
    if not isinstance(value, dict):
        return True
    known = schema.get("properties", {})
    if "patternProperties" in schema or not isinstance(known, dict):
        return False
    return all(_fits(asked, value[name], root) for name in value if name not in known)


def _items(asked: object, value: object, schema: Json, root: Json) -> bool:
    if not isinstance(value, list):
        return True
    return "prefixItems" not in schema and all(_fits(asked, item, root) for item in value)


def _any_of(asked: object, value: object, _schema: Json, root: Json) -> bool:
    return isinstance(asked, list) and any(_fits(one, value, root) for one in asked)


def _all_of(asked: object, value: object, _schema: Json, root: Json) -> bool:
    return isinstance(asked, list) and all(_fits(one, value, root) for one in asked)


def _bound(kind: type, measure: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    """A check of a value of that kind against a number; other kinds pass."""

    def check(asked: object, value: object, _schema: Json, _root: Json) -> bool:
        if not isinstance(value, kind) or isinstance(value, bool):
            return True
        return type(asked) in (int, float) and measure(value, asked)

    return check


def _numeric(measure: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    whole, broken = _bound(int, measure), _bound(float, measure)
    return lambda *given: whole(*given) and broken(*given)


_CHECKS: Mapping[str, Callable[[Any, Any, Json, Json], bool]] = {
    "$ref": _reference,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "anyOf": _any_of,
    "allOf": _all_of,
    "minimum": _numeric(lambda value, least: value >= least),
    "maximum": _numeric(lambda value, most: value <= most),
    "exclusiveMinimum": _numeric(lambda value, least: value > least),
    "exclusiveMaximum": _numeric(lambda value, most: value < most),
    "minLength": _bound(str, lambda value, least: len(value) >= least),
    "maxLength": _bound(str, lambda value, most: len(value) <= most),
    "minItems": _bound(list, lambda value, least: len(value) >= least),
    "maxItems": _bound(list, lambda value, most: len(value) <= most),
}
