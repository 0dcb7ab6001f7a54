"""Fields of a form from a tool's input schema, without Qt."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from store.typed import Json
from ui.look.text import visible

TEXT, NUMBER, INTEGER, CHOICE, SWITCH, LIST, GROUP, JSON = (
    "text",
    "number",
    "integer",
    "choice",
    "switch",
    "list",
    "group",
    "json",
)
_DEEPEST = 4  # groups in groups; what lies deeper is typed as JSON
_SECRET = re.compile(r"(?i)(passw|secret|token$|api_?key|credential|private_?key)")
_PLAIN = {"string": TEXT, "number": NUMBER, "integer": INTEGER, "boolean": SWITCH}
_DEFINED = ("#/$defs/", "#/definitions/")


class FieldError(ValueError):
    """A typed text that the field does not take; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Field:
    """One argument."""

    name: str
    kind: str
    required: bool = False
    description: str = ""
    default: object = None  # None: there is none
    choices: tuple[object, ...] = ()
    secret: bool = False
    items: str = TEXT  # of a list: what each line is
    children: tuple["Field", ...] = ()


def fields_of(schema: Json) -> tuple[Field, ...]:
    """The arguments that an input schema names, those that must be given first."""
    return _fields(schema, schema, _DEEPEST)


def _fields(schema: Mapping[str, object], root: Json, depth: int) -> tuple[Field, ...]:
    properties, required = schema.get("properties"), schema.get("required")
    must = set(map(str, required)) if isinstance(required, list) else set()
    if not isinstance(properties, dict):
        return ()
    fields = [_field(str(n), v, root, depth, must=str(n) in must) for n, v in properties.items()]
    return tuple(sorted(fields, key=lambda field: not field.required))


def _field(name: str, value: object, root: Json, depth: int, *, must: bool) -> Field:
    schema = _resolved(value, root)
    described = schema.get("description")
    text = visible(described) if isinstance(described, str) else ""
    kind, more = _kind(schema, root, depth)
    secret = kind == TEXT and (schema.get("format") == "password" or bool(_SECRET.search(name)))
    return Field(name, kind, must, text, schema.get("default"), secret=secret, **more)


def _kind(schema: Json, root: Json, depth: int) -> tuple[str, Json]:
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return CHOICE, {"choices": tuple(schema["enum"])}
    kind = schema.get("type")
    if isinstance(kind, list):  # "string or null" is a string that may be left out
        named = [one for one in kind if one != "null"]
        kind = named[0] if len(named) == 1 else None
    if kind in _PLAIN:
        return _PLAIN[str(kind)], {}
    if kind == "array":
        items = _resolved(schema.get("items"), root)
        inner = _PLAIN.get(str(items.get("type")))
        if inner in (TEXT, NUMBER, INTEGER) and "enum" not in items:
            return LIST, {"items": inner}
    if kind == "object" and depth:
        children = _fields(schema, root, depth - 1)
        if children:
            return GROUP, {"children": children}
    return JSON, {}


def _resolved(value: object, root: Json) -> Json:
    """A schema behind references and behind a choice between itself and null."""
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            return {}
        reference, either = value.get("$ref"), value.get("anyOf") or value.get("oneOf")
        if isinstance(reference, str):
            value = {**_defined(reference, root), **{k: v for k, v in value.items() if k != "$ref"}}
        elif isinstance(either, list) and "type" not in value:
            named = [o for o in either if isinstance(o, dict) and o.get("type") != "null"]
            if len(named) != 1:
                return value
            rest = {k: v for k, v in value.items() if k not in ("anyOf", "oneOf")}
            value = {**named[0], **rest}
        else:
            return value
    return {}


def _defined(reference: str, root: Json) -> Json:
    for start in _DEFINED:
        if reference.startswith(start):
            group = root.get(start[2:-1])
            definition = (
                group.get(reference.removeprefix(start)) if isinstance(group, dict) else None
            )
            return definition if isinstance(definition, dict) else {}
    return {}


def value_of(kind: str, text: str) -> object:
    """Convert a typed text to the argument's kind of value; raises FieldError."""
    if kind == TEXT:
        return text
    text = text.strip()
    if kind == INTEGER:
        try:
            return int(text)
        except ValueError:
            raise FieldError(f"needs a whole number, got “{text}”") from None
    if kind == NUMBER:
        try:
            number = float(text)
        except ValueError:
            raise FieldError(f"needs a number, got “{text}”") from None
        return int(text) if text.lstrip("+-").isdecimal() else number
    try:
        return json.loads(text)
    except ValueError as error:
        raise FieldError(f"is not JSON: {error}") from None


def text_of(kind: str, value: object) -> str:
    """A value as it is typed."""
    if kind == TEXT and isinstance(value, str):
        return value
    if kind == JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
