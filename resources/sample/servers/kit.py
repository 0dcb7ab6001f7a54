"""Tools from plain functions: a description, a schema, and arguments that are checked."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Work = Callable[..., Any]
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}


class ToolError(Exception):
    """What a tool answers when it cannot do what was asked."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool."""

    schema: Json
    required: bool = True


def text(description: str, **more: Any) -> Parameter:
    """A required string."""
    return Parameter({"type": "string", "description": description, **more})


def number(description: str, **more: Any) -> Parameter:
    """A required integer."""
    return Parameter({"type": "integer", "description": description, **more})


def flag(description: str, default: bool = False) -> Parameter:
    """An optional boolean."""
    return Parameter(
        {"type": "boolean", "description": description, "default": default}, required=False
    )


def texts(description: str) -> Parameter:
    """A required list of strings."""
    return Parameter({"type": "array", "items": {"type": "string"}, "description": description})


def maybe(parameter: Parameter, default: Any = None) -> Parameter:
    """The same argument, but it may be left out."""
    more = {} if default is None else {"default": default}
    return Parameter({**parameter.schema, **more}, required=False)


@dataclass
class Kit:
    """The tools of one server."""

    instructions: str
    tools: dict[str, tuple[Json, Work]] = field(default_factory=dict)

    def tool(
        self, description: str, *, reads: bool = False, destroys: bool = False, **given: Parameter
    ) -> Callable[[Work], Work]:
        """Register the function below under its own name."""

        def register(work: Work) -> Work:
            schema: Json = {
                "type": "object",
                "properties": {name: parameter.schema for name, parameter in given.items()},
                "required": [name for name, parameter in given.items() if parameter.required],
                "additionalProperties": False,
            }
            definition = {
                "name": work.__name__,
                "title": work.__name__.replace("_", " ").capitalize(),
                "description": description,
                "inputSchema": schema,
                "annotations": {"readOnlyHint": reads, "destructiveHint": destroys},
            }
            self.tools[work.__name__] = (definition, work)
            return work

        return register

    def definitions(self) -> list[Json]:
        """What tools/list answers."""
        return [definition for definition, _ in self.tools.values()]

    def call(self, name: Any, arguments: Json) -> Json:
        """What tools/call answers."""
        if name not in self.tools:
            return _text_result(f"Unknown tool: {name}", error=True)
        definition, work = self.tools[name]
        try:
            result = work(**_checked(definition["inputSchema"], arguments))
        except (ToolError, OSError) as error:
            return _text_result(str(error), error=True)
        return _text_result(result if isinstance(result, str) else json.dumps(result, indent=1))


def _checked(schema: Json, arguments: Json) -> Json:
    missing = [name for name in schema["required"] if name not in arguments]
    if missing:
        raise ToolError(f"Missing argument: {', '.join(missing)}")
    for name, value in arguments.items():
        wanted = schema["properties"].get(name)
        if wanted is None:
            raise ToolError(f"Unknown argument: {name}")
        if not isinstance(value, TYPES[wanted["type"]]):
            raise ToolError(f"{name} must be of type {wanted['type']}")
        if value not in wanted.get("enum", [value]):
            raise ToolError(f"{name} must be one of {', '.join(wanted['enum'])}")
    defaults = {n: s["default"] for n, s in schema["properties"].items() if "default" in s}
    return {**defaults, **arguments}


def _text_result(words: str, *, error: bool = False) -> Json:
    return {"content": [{"type": "text", "text": words}], "isError": error}


class RecordFile:
    """Records in one JSON file, each with a number as its id."""

    def __init__(self, file: Path, start: list[Json]) -> None:
        self._file = file
        if not file.exists():
            self.save([{"id": index, **record} for index, record in enumerate(start, start=1)])

    def all(self) -> list[Json]:
        """Every record, the oldest first."""
        records: list[Json] = json.loads(self._file.read_text(encoding="utf-8"))
        return records

    def one(self, record_id: int) -> Json:
        """The record with that id; raises ToolError."""
        for record in self.all():
            if record["id"] == record_id:
                return record
        raise ToolError(f"There is no record with the id {record_id}.")

    def add(self, **record: Any) -> Json:
        """A new record."""
        records = self.all()
        new = {"id": max([r["id"] for r in records], default=0) + 1, **record}
        self.save([*records, new])
        return new

    def change(self, record_id: int, **changes: Any) -> Json:
        """The record after some of its fields changed."""
        changed = {**self.one(record_id), **changes}
        self.save([changed if r["id"] == record_id else r for r in self.all()])
        return changed

    def remove(self, record_id: int) -> Json:
        """The record that is no longer there."""
        gone = self.one(record_id)
        self.save([r for r in self.all() if r["id"] != record_id])
        return gone

    def search(self, words: str, *fields: str) -> list[Json]:
        """Records that hold all the words in some of the fields."""
        wanted = words.lower().split()
        return [
            record
            for record in self.all()
            if all(
                any(word in str(record.get(name, "")).lower() for name in fields) for word in wanted
            )
        ]

    def save(self, records: list[Json]) -> None:
        """Write all records."""
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(records, indent=1), encoding="utf-8")
        beside.replace(self._file)
