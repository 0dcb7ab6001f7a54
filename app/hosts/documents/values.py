"""The value tree of a host file in any of its formats."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import ToolcribError
from app.hosts.documents.encoding import decode
from app.hosts.documents.json_spans import JsonError, parse

_SUFFIXES = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file's values, and what a strict reader or a writer would not take."""

    value: Any
    duplicates: tuple[str, ...] = ()
    bom: bool = False
    comments: bool = False
    trailing_commas: bool = False
    empty: bool = False


def format_of(path: Path) -> str:
    """The format that a file's name says; JSON when it says nothing."""
    return _SUFFIXES.get(path.suffix.lower(), "jsonc")


def read_values(data: bytes, kind: str) -> Parsed:
    """The values of a file's bytes; ToolcribError when it cannot be parsed."""
    decoded = decode(data)
    if not decoded.text.strip():
        return Parsed({}, bom=decoded.bom, empty=True)
    if kind == "toml":
        return Parsed(_toml(decoded.text), bom=decoded.bom)
    if kind in ("yaml", "markdown"):
        text = front_matter(decoded.text)[1] if kind == "markdown" else decoded.text
        return Parsed(_yaml(text), bom=decoded.bom)
    try:
        document = parse(decoded.text)
    except JsonError as error:
        raise ToolcribError(f"The file is not valid JSON, {error}.", _REPAIR) from error
    return Parsed(
        document.root.value(),
        document.duplicates,
        decoded.bom,
        document.comments,
        document.trailing_commas,
    )


def front_matter(text: str) -> tuple[str, str, str]:
    """Opening line, YAML and the rest of a Markdown file with front matter."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        return "", "", text
    for index, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            return lines[0], "".join(lines[1:index]), "".join(lines[index:])
    return "", "", text


_REPAIR = "Repair the file, or restore it from a backup, and try again."


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ToolcribError(f"The file is not valid TOML: {error}.", _REPAIR) from error


def _yaml(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import YAMLError

    try:
        return _plain(YAML(typ="safe", pure=True).load(text))
    except DuplicateKeyError as error:
        raise ToolcribError("The file names a key twice.", _REPAIR) from error
    except YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise ToolcribError(f"The file is not valid YAML, line {line}.", _REPAIR) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
