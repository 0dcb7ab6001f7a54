"""Arguments checked against a tool's own schema before its server is bothered."""

import json
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from app.gateway.menu.effort import judge
from app.gateway.menu.fast_check import Check, local, quick_check
from store.typed import Any, Json

_MOST_TOOLS = 256
_MOST_PROBLEMS = 3
_LONGEST = 200  # characters of one problem
_PATTERN_BYTES = 1 << 20  # of one compiled pattern
_LONGEST_PARSED = 10_000  # characters of a text that is tried as JSON


class Checker:
    """Check of arguments against a tool's text: a quick one, and a validator where needed."""

    def __init__(self) -> None:
        self._checks: OrderedDict[str, tuple[Check, Check]] = OrderedDict()
        self._validators: Json = {}

    def problems(self, raw: str, arguments: object) -> list[str]:
        """Faults of the arguments; [] when there is none, or the schema itself is broken.

        `raw` is the tool's JSON text.
        """
        check, bounded = self._check(raw)
        if not bounded(arguments) or check(arguments):
            return []  # without a bound it is the server's to judge
        validator = self._validator(raw)
        if validator is None or validator.is_valid(arguments):
            return []
        problems: list[str] = []
        for error in validator.iter_errors(arguments):
            where = "/".join(str(part) for part in error.instance_path)
            text = f"{where}: {error.message}" if where else str(error.message)
            problems.append(text[:_LONGEST])
            if len(problems) == _MOST_PROBLEMS:
                break
        return problems

    def _check(self, raw: str) -> tuple[Check, Check]:
        """The quick look, and what says whether looking comes to an end."""
        check = self._checks.get(raw)
        if check is None:
            schema = json.loads(raw).get("inputSchema")
            plain = schema if isinstance(schema, dict) else {}
            check = quick_check(plain), judge(plain)
            self._checks[raw] = check
            if len(self._checks) > _MOST_TOOLS:
                oldest, _ = self._checks.popitem(last=False)
                self._validators.pop(oldest, None)
        return check

    def _validator(self, raw: str) -> Any:
        if raw not in self._validators:
            self._validators[raw] = _compiled(json.loads(raw)["inputSchema"])
        return self._validators[raw]


def _compiled(schema: Json) -> Any:
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
        target = local(schema["$ref"], root)
        if not isinstance(target, dict):
            return True  # it cannot be told
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


def parsed(raw: str, arguments: object, problems: Callable[[object], list[str]]) -> object:
    """The arguments with texts parsed where the schema wants another kind, if that mends all.

    `problems` says what is wrong with arguments; where parsing does not help they come back as
    they were.
    """
    schema = json.loads(raw).get("inputSchema")
    named = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(arguments, dict) or not isinstance(named, dict):
        return arguments
    changed = {name: _parsed(value, named.get(name)) for name, value in arguments.items()}
    return changed if changed != arguments and not problems(changed) else arguments


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
