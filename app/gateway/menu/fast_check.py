"""A quick look at a call's arguments: sure that they fit their schema, or not sure.

Most calls are right and most schemas plain. The validator is loaded (7 MB) for the others only.
"""

from collections.abc import Callable, Mapping

from store.typed import Any, Json

Check = Callable[[Any], bool]

_ANNOTATIONS = frozenset(
    (
        *("$schema", "$comment", "$defs", "definitions", "title", "description", "default"),
        *("examples", "deprecated", "readOnly", "writeOnly"),
    )
)


def quick_check(schema: Json) -> Check:
    """Return a check: True if a value surely satisfies the schema, False where it cannot tell."""
    try:
        check = _check(schema, schema)
    except RecursionError:
        return _never

    def fits(value: object) -> bool:
        try:
            return check(value)
        except RecursionError:  # a schema that refers to itself, or a very deep value
            return False

    return fits


def _check(schema: object, root: Json) -> Check:
    if schema is True:
        return _always
    if not isinstance(schema, dict):
        return _never
    checks = []
    for keyword, rule in schema.items():
        if keyword in _ANNOTATIONS or keyword.startswith("x-"):
            continue
        make = _MAKERS.get(keyword)
        if make is None:
            return _never
        checks.append(make(rule, schema, root))
    return _all(checks)


def _always(_value: object) -> bool:
    return True


def _never(_value: object) -> bool:
    return False


def _all(checks: list[Check]) -> Check:
    def check(value: object) -> bool:
        for one in checks:  # noqa: SIM110 - a generator would double the time
            if not one(value):
                return False
        return True

    return checks[0] if len(checks) == 1 else check


def _reference(rule: object, _schema: Json, root: Json) -> Check:
    """#/$defs/NAME or #/definitions/NAME, read at its first use: it may lead back here."""
    target: list[Check] = []

    def check(value: object) -> bool:
        if not target:
            target.append(_check(local(rule, root), root))
        return target[0](value)

    return check


def local(reference: object, root: Json) -> object:
    """The schema that #/$defs/NAME or #/definitions/NAME means, False for any other reference."""
    parts = reference.split("/") if isinstance(reference, str) else []
    if len(parts) != 3 or parts[0] != "#" or "$id" in root:
        return False
    named = root.get(parts[1])
    return named.get(parts[2], False) if isinstance(named, dict) else False


_KINDS: Mapping[str, Check] = {
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,  # 1.0 is one in some drafts only
    "number": lambda value: type(value) is int or isinstance(value, float),
    "null": lambda value: value is None,
}


def _type(rule: object, _schema: Json, _root: Json) -> Check:
    if isinstance(rule, str):
        return _KINDS.get(rule, _never)
    names = rule if isinstance(rule, list) else []
    kinds = [_KINDS.get(name, _never) for name in names if isinstance(name, str)]
    return lambda value: any(kind(value) for kind in kinds)


def _enum(rule: object, _schema: Json, _root: Json) -> Check:
    texts = {one for one in rule if isinstance(one, str)} if isinstance(rule, list) else set()
    return lambda value: isinstance(value, str) and value in texts


def _const(wanted_value: object, _schema: Json, _root: Json) -> Check:
    return lambda value: isinstance(value, str) and value == wanted_value


def _properties(rule: object, _schema: Json, root: Json) -> Check:
    named = rule if isinstance(rule, dict) else None
    checks = {name: _check(one, root) for name, one in (named or {}).items()}

    def check(value: object) -> bool:
        if not isinstance(value, dict):
            return True
        for name, one in value.items():
            if name in checks and not checks[name](one):
                return False
        return named is not None

    return check


def _required(rule: object, _schema: Json, _root: Json) -> Check:
    if not isinstance(rule, list) or not all(isinstance(name, str) for name in rule):
        return _never
    names = set(rule)
    return lambda value: not isinstance(value, dict) or names <= value.keys()


def _additional(rule: object, schema: Json, root: Json) -> Check:
    properties = schema.get("properties", {})
    if "patternProperties" in schema or not isinstance(properties, dict):
        return _never
    other = _check(rule, root)
    return lambda value: (
        not isinstance(value, dict)
        or all(other(value[name]) for name in value.keys() - properties.keys())
    )


def _items(rule: object, schema: Json, root: Json) -> Check:
    if "prefixItems" in schema:
        return _never
    each = _check(rule, root)
    return lambda value: not isinstance(value, list) or all(each(item) for item in value)


def _any_of(rule: object, _schema: Json, root: Json) -> Check:
    ways = [_check(one, root) for one in rule] if isinstance(rule, list) else []
    return lambda value: any(way(value) for way in ways)


def _all_of(rule: object, _schema: Json, root: Json) -> Check:
    return _all([_check(one, root) for one in rule]) if isinstance(rule, list) else _never


def _bound(
    kinds: tuple[type, ...], within: Callable[[Any, Any], bool]
) -> Callable[[object, Json, Json], Check]:
    """A comparison with a number, for values of these kinds; others pass."""

    def make(rule: object, _schema: Json, _root: Json) -> Check:
        if type(rule) not in (int, float):
            return _never
        return lambda value: type(value) not in kinds or within(value, rule)

    return make


_NUMBERS = (int, float)
_MAKERS: Mapping[str, Callable[[Any, Json, Json], Check]] = {
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
    "minimum": _bound(_NUMBERS, lambda value, least: value >= least),
    "maximum": _bound(_NUMBERS, lambda value, most: value <= most),
    "exclusiveMinimum": _bound(_NUMBERS, lambda value, least: value > least),
    "exclusiveMaximum": _bound(_NUMBERS, lambda value, most: value < most),
    "minLength": _bound((str,), lambda value, least: len(value) >= least),
    "maxLength": _bound((str,), lambda value, most: len(value) <= most),
    "minItems": _bound((list,), lambda value, least: len(value) >= least),
    "maxItems": _bound((list,), lambda value, most: len(value) <= most),
}
