"""Arguments checked against a tool's own schema before its server is bothered."""

import json
from collections import OrderedDict

from app.gateway.fits import Check, quick_check
from app.gateway.protocol import Json
from store.typed import Any

_MOST_TOOLS = 256
_MOST_PROBLEMS = 3
_LONGEST = 200  # characters of one problem


class Checker:
    """What a tool's text says about arguments: a quick check, and a validator where needed."""

    def __init__(self) -> None:
        self._checks: OrderedDict[str, Check] = OrderedDict()
        self._validators: dict[str, Any] = {}

    def problems(self, raw: str, arguments: object) -> list[str]:
        """What is wrong with the arguments; [] when nothing is, or the schema itself is broken.

        `raw` is the tool's JSON text.
        """
        if self._check(raw)(arguments):
            return []
        validator = self._validator(raw)
        if validator is None or validator.is_valid(arguments):
            return []
        found: list[str] = []
        for error in validator.iter_errors(arguments):
            where = "/".join(str(part) for part in error.instance_path)
            text = f"{where}: {error.message}" if where else str(error.message)
            found.append(text[:_LONGEST])
            if len(found) == _MOST_PROBLEMS:
                break
        return found

    def _check(self, raw: str) -> Check:
        check = self._checks.get(raw)
        if check is None:
            schema = json.loads(raw).get("inputSchema")
            check = quick_check(schema if isinstance(schema, dict) else {})
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
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # the server wrote a schema that nobody can read; it must judge itself


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


def as_object(arguments: object) -> object:
    """The arguments as an object: nothing is {}, JSON in a text is read."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments)
        except ValueError:
            return arguments
        return found if isinstance(found, dict) else arguments
    return arguments
