"""Arguments checked against a tool's own schema before its server is bothered."""

import json
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from app.gateway.menu.effort import judge, local_definition
from store.typed import Any, Json, list_or_empty, object_or_empty

if TYPE_CHECKING:
    import jsonschema_rs

_MOST_TOOLS = 256
_MOST_PROBLEMS = 3
_LONGEST = 200  # characters of one problem
_PATTERN_BYTES = 1 << 20  # of one compiled pattern
_LONGEST_PARSED = 10_000  # characters of a text that is tried as JSON
_PLAIN = frozenset(("type", "title", "description", "default", "examples"))
_PLAIN_OBJECT = _PLAIN | {"$schema", "properties", "required", "additionalProperties"}
_TYPES = {"string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float)}


class Checker:
    """Check of arguments against a tool's text; compiled schemas of the last tools are kept."""

    def __init__(self) -> None:
        self._schema = lru_cache(maxsize=_MOST_TOOLS)(_Schema)

    def problems(self, raw: str, arguments: object) -> list[str]:
        """Faults of the arguments; [] when there is none, or the schema itself is broken.

        `raw` is the tool's JSON text.
        """
        schema = self._schema(raw)
        if schema.is_plain_match(arguments) or not schema.bounded(arguments):
            return []  # without a bound it is the server's to judge
        validator = schema.validator
        if validator is None or validator.is_valid(arguments):
            return []
        errors = islice(validator.iter_errors(arguments), _MOST_PROBLEMS)
        return [_problem(error) for error in errors]

    def checked(self, raw: str, arguments: object) -> tuple[object, list[str]]:
        """The arguments as they may be sent, and their faults; where there are none, as they fit.

        An argument that the tool's text does not have is a fault, too. Texts are parsed where the
        schema wants another kind, if that mends all.
        """
        faults = self._faults(raw, arguments)
        if faults:
            read = _read_texts(raw, arguments)
            if read != arguments and not self._faults(raw, read):
                return read, []
        return arguments, faults

    def _faults(self, raw: str, arguments: object) -> list[str]:
        unknown = [f"{name}: there is no such argument" for name in undeclared(raw, arguments)]
        return unknown + self.problems(raw, arguments)


class _Schema:
    """A tool's schema: the bound on the work of a check, and its validator."""

    def __init__(self, raw: str) -> None:
        self._schema = object_or_empty(json.loads(raw).get("inputSchema"))
        self._required = frozenset(map(str, list_or_empty(self._schema.get("required"))))
        self._plain_types = _plain_types(self._schema)
        self.bounded = judge(self._schema)

    def is_plain_match(self, arguments: object) -> bool:
        """True if all that applies to these arguments is a type each, and they have it.

        Most calls: the validator, 4 MB, is loaded for the others only.
        """
        if self._plain_types is None or not isinstance(arguments, dict):
            return False
        for name, one in arguments.items():
            if type(one) not in self._plain_types.get(name, ()):
                return False
        return self._required <= arguments.keys()

    @cached_property
    def validator(self) -> "jsonschema_rs.Validator | None":
        """Compiled at the first value that it is needed for; None if it cannot be read."""
        return _compiled(self._schema)


def _plain_types(schema: Json) -> dict[str, tuple[type, ...]] | None:
    """Types of the properties about which a schema says nothing else.

    None for a schema that demands more than types and names.
    """
    named = schema.get("properties")
    is_plain = schema.get("type") == "object" and schema.keys() <= _PLAIN_OBJECT
    if not is_plain or not isinstance(named, dict):
        return None
    return {
        name: _TYPES.get(str(one.get("type")), ())
        for name, one in named.items()
        if isinstance(one, dict) and one.keys() <= _PLAIN
    }


def _problem(error: "jsonschema_rs.ValidationError") -> str:
    where = "/".join(str(part) for part in error.instance_path)
    return (f"{where}: {error.message}" if where else str(error.message))[:_LONGEST]


def _compiled(schema: Json) -> "jsonschema_rs.Validator | None":
    import jsonschema_rs

    try:
        # patterns in linear time: one that backtracks takes a second for forty letters
        linear = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES)
        return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=linear)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # the server wrote a schema that cannot be read; it must judge itself


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


@lru_cache(maxsize=_MOST_TOOLS)
def _declared(raw: str) -> frozenset[str] | None:
    """The arguments that a tool's text names, None where its schema leaves others open."""
    schema = json.loads(raw).get("inputSchema")
    if not isinstance(schema, dict):
        return None
    names: set[str] = set()
    try:
        takes_any = _takes_any(schema, schema, names, set())
    except (RecursionError, TypeError, AttributeError):  # a schema that is none
        return None
    return None if takes_any or not (names or "properties" in schema) else frozenset(names)


def _takes_any(schema: object, root: Json, names: set[str], seen: set[int]) -> bool:
    """Add the properties that an object schema names; whether it leaves others open.

    `seen`: parts that were looked at, which references may lead to many times.
    """
    if not isinstance(schema, dict) or id(schema) in seen:
        return False
    seen.add(id(schema))
    if "patternProperties" in schema or schema.get("unevaluatedProperties", False) is not False:
        return True
    if schema.get("additionalProperties", False) is not False:
        return True
    names.update(schema.get("properties", ()))
    parts = [one for word in _COMBINED for one in schema.get(word, ())]
    parts += [schema.get(word) for word in _CONDITIONAL]
    parts += schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        target = local_definition(schema["$ref"], root)
        if not isinstance(target, dict):
            return True  # a schema elsewhere may allow any name
        parts.append(target)
    return any(_takes_any(part, root, names, seen) for part in parts)


_COMBINED = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")


def undeclared(raw: str, arguments: object) -> list[str]:
    """Names of arguments that a tool's text (JSON) neither has nor leaves open."""
    if not isinstance(arguments, dict) or not arguments:
        return []
    names = _declared(raw)
    return [] if names is None else [str(name) for name in arguments if name not in names]


def _read_texts(raw: str, arguments: object) -> object:
    """The arguments with texts parsed where the schema wants another kind."""
    schema = object_or_empty(json.loads(raw).get("inputSchema"))
    named = object_or_empty(schema.get("properties"))
    if not isinstance(arguments, dict):
        return arguments
    return {name: _parsed(value, named.get(name)) for name, value in arguments.items()}


def _parsed(value: object, schema: object) -> object:
    """A text as the number, truth value, list or object that its schema asks for."""
    if not isinstance(value, str) or not isinstance(schema, dict) or len(value) > _LONGEST_PARSED:
        return value
    try:
        parsed_value = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if parsed_value is None or isinstance(parsed_value, str) else parsed_value


def as_object(arguments: object) -> object:
    """The arguments as an object: nothing is {}, JSON in a text is read."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments)
        except ValueError:
            return arguments
        return value if isinstance(value, dict) else arguments
    return arguments


def as_fields(arguments: object) -> Json:
    """The fields of arguments, {} where they are no object."""
    return object_or_empty(as_object(arguments))
