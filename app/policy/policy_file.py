"""The policy file: one format for a repository (`.toolcrib.toml`), a profile and a team.

A policy narrows what a model gets and never adds a tool (Tool Budget pattern: policy apart from
enforcement). `resources/policy.schema.json` describes every key; editors complete it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs

from app.catalog.availability import Conditions
from app.catalog.conditions import DESTRUCTIVE
from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.policy.budget import Budget
from store.typed import Json, JsonMapping, object_or_empty

FILE_NAME = ".toolcrib.toml"
SCHEMA = "policy.schema.json"
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurement that a policy names for its limits; shown, not checked."""

    accuracy: float
    date: str
    tools: int = 0
    method: str = ""

    @property
    def text(self) -> str:
        """One sentence."""
        over = f" over {self.tools:,} tools" if self.tools else ""
        how = f" ({self.method})" if self.method else ""
        return f"The policy names {100 * self.accuracy:.0f} % accuracy{over} on {self.date}{how}."


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy; None and empty values leave the profile as it is."""

    budget: Json = field(default_factory=dict)  # keys of app.core.settings.BudgetSettings
    evidence: Evidence | None = None
    servers: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    off: tuple[str, ...] = ()
    always_include: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    conditions: Json = field(default_factory=dict)
    scopes: Json = field(default_factory=dict)
    routing: Json = field(default_factory=dict)

    def allows(self, tool_id: str) -> bool:
        """True if the policy leaves the tool `server/tool` on."""
        server = tool_id.partition("/")[0]
        if self.servers is not None and server not in self.servers:
            return False
        if self.only is not None and not any(names_tool(p, tool_id) for p in self.only):
            return False
        return not any(names_tool(pattern, tool_id) for pattern in self.off)

    def includes(self, tool_id: str) -> bool:
        """True if the policy wants the tool in the menu always."""
        return any(names_tool(pattern, tool_id) for pattern in self.always_include)

    @property
    def own_budget(self) -> Budget:
        """The budget where there is no profile: the policy's limits over the defaults."""
        return Budget().with_changes(**self.budget)


def names_tool(pattern: str, tool_id: str) -> bool:
    """True if a pattern names the tool: `server/tool` with wildcards, or a whole server."""
    return fnmatchcase(tool_id, pattern if "/" in pattern else f"{pattern}/*")


def wide(pattern: str) -> str:
    """A pattern as the profile's settings take it: there a word alone is a tool's name."""
    return pattern if "/" in pattern or pattern == DESTRUCTIVE else f"{pattern}/*"


def find_policy(folder: Path) -> Path | None:
    """The policy file of a repository: in the folder or the nearest one above it.

    The search ends at the folder that holds `.git`, at the home folder and at the root.
    """
    home = Path.home()
    for place in (folder, *folder.parents):
        if place == home and place != folder:
            return None
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
        if (place / ".git").exists():
            return None
    return None


def policy_bytes(path: str | Path) -> bytes:
    """The bytes of a policy file; ToolcribError where it cannot be read."""
    try:
        return read_plain(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "Check that it is a file that you may read."
        raise ToolcribError(f"{path} cannot be read: {reason}.", hint) from error


def read_policy(path: str | Path) -> Policy:
    """The policy in a file; ToolcribError names file, line and key."""
    return parse_policy(policy_bytes(path), str(path))


def parse_policy(data: bytes, name: str) -> Policy:
    """The policy in these bytes; `name` is the file's name in errors."""
    text = _decoded(data, name)
    try:
        values = _plain(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ToolcribError(
            f"{name}: {error}.", "Correct the line; TOML is described at toml.io."
        ) from error
    problem = next(iter(_validator().iter_errors(values)), None)
    if problem is not None:
        raise _refusal(problem, text, name)
    _check_conditions(values, text, name)
    return _policy(values)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ToolcribError(
            f"{name}, line {line}: not UTF-8.", "Save the file as UTF-8."
        ) from error


def _plain(value: Any) -> Any:
    """The values with dates as text, as JSON Schema knows them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime) else value


@cache
def schema() -> Json:
    """The JSON schema of the format, with a description of each key."""
    text = (resources.files("resources") / SCHEMA).read_text(encoding="utf-8")
    values: Json = json.loads(text)
    return values


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema())


def _refusal(problem: jsonschema_rs.ValidationError, text: str, name: str) -> ToolcribError:
    """The first violation as an error that names file, line and key."""
    path = [str(part) for part in problem.instance_path]
    unknown = re.match(
        r"Additional properties are not allowed \((.+?) (?:was|were)", problem.message
    )
    if unknown:
        path.append(unknown.group(1).split(",")[0].strip().strip("'\""))
        allowed = ", ".join(_node(path[:-1]).get("properties", {}))
        return _error(name, text, path, "is not a key of a policy", f"Keys here: {allowed}.")
    if not path:
        return ToolcribError(f"{name}: version is missing.", "Begin the file with: version = 1")
    what = problem.message.replace("\n", " ")[:200]
    described = str(_node(path).get("description", ""))
    return _error(name, text, path, f"cannot be this: {what}", described or "Correct the value.")


def _error(name: str, text: str, path: Iterable[str], what: str, hint: str) -> ToolcribError:
    keys = [part for part in path if not part.isdigit()]
    line = key_line(text, keys)
    place = f"{name}, line {line}" if line else name
    return ToolcribError(f"{place}: {'.'.join(keys)} {what}.", hint)


def _node(path: Iterable[str]) -> Json:
    """The part of the schema that describes a key."""
    node = schema()
    for part in path:
        if part.isdigit():
            continue
        inner = node.get("properties", {}).get(part)
        node = inner if isinstance(inner, dict) else node.get("additionalProperties") or {}
    return object_or_empty(node)


def key_line(text: str, path: list[str]) -> int:
    """The line, from 1, on which a key or its table begins; 0 if it is on no line of its own."""
    table: list[str] = []
    best = 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = _header(line)
        if header is not None:
            table = header
            if path[: len(table)] == table:
                best = number
            if table == path:
                return number
            continue
        keys = _keys_of(line)
        if keys and [*table, *keys][: len(path)] == path:
            return number
    return best


def _header(line: str) -> list[str] | None:
    inner = line.split("#")[0].strip()
    if not (inner.startswith("[") and inner.endswith("]")):
        return None
    return _dotted(inner.strip("[]").strip())


def _keys_of(line: str) -> list[str]:
    left, equals, _ = line.partition("=")
    return (_dotted(left.strip()) or []) if equals and not left.lstrip().startswith("#") else []


def _dotted(key: str) -> list[str] | None:
    try:
        value: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        name, value = next(iter(value.items()))
        path.append(name)
    return path


def _check_conditions(values: JsonMapping, text: str, name: str) -> None:
    """Refuse conditions that the gateway could not evaluate; no tool would pass them."""
    for part in ("conditions", "scopes"):
        for pattern, texts in values.get(part, {}).items():
            given = ({}, {pattern: texts}) if part == "conditions" else ({pattern: texts}, {})
            problems = Conditions.of(*given).problems
            if problems:
                hint = "See the key's description in the policy's schema."
                raise _error(name, text, [part, pattern], f"cannot be used: {problems[0]}", hint)


def _policy(values: Mapping[str, Any]) -> Policy:
    budget = dict(values.get("budget", {}))
    evidence = budget.pop("evidence", None)
    if "max_schema_tokens" in budget:
        budget["limit"] = budget.pop("max_schema_tokens")
    tools = values.get("tools", {})
    return Policy(
        budget=budget,
        evidence=Evidence(**evidence) if evidence else None,
        servers=_names(values.get("servers")),
        only=_names(tools.get("only")),
        off=_names(tools.get("off")) or (),
        always_include=_names(tools.get("always_include")) or (),
        confirm=tuple(map(wide, tools.get("confirm", ()))),
        conditions={wide(key): texts for key, texts in values.get("conditions", {}).items()},
        scopes={wide(key): names for key, names in values.get("scopes", {}).items()},
        routing=dict(values.get("routing", {})),
    )


def _names(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
