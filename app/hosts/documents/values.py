"""The value tree of a host file in any of its formats."""

import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.hosts.documents.encoding import decode
from app.hosts.documents.json_spans import DEEPEST, JsonError, parse

_MOST_TEXT = 1_000_000  # characters; parsing YAML takes ten seconds for each million
_LONG_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){200}""")
# what ruamel.yaml raises besides its own errors
_OTHER_ERRORS = (
    ValueError,
    AssertionError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
)
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
    value = document.root.value()
    _check_depth(value)
    return Parsed(
        value,
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
    _check_size(text, "TOML")
    if _LONG_KEY.search(text):  # which takes tomllib the square of its length
        raise _too_deep()
    try:
        value = tomllib.loads(text)
    except ValueError as error:  # also a number with too many digits
        raise ToolcribError(f"The file is not valid TOML: {error}.", _REPAIR) from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(value)
    return value


def _yaml(text: str) -> Any:
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import YAMLError

    _check_size(text, "YAML")
    try:
        with warnings.catch_warnings(action="ignore"):  # which quote the file, secrets and all
            return _plain(_loaded(text))
    except DuplicateKeyError as error:
        raise ToolcribError("The file names a key twice.", _REPAIR) from error
    except YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise ToolcribError(f"The file is not valid YAML, line {line}.", _REPAIR) from error
    except RecursionError:
        raise _too_deep() from None
    except _OTHER_ERRORS as error:  # a date that no calendar has, a number without digits
        raise ToolcribError(f"The file is not valid YAML: {error}.", _REPAIR) from error


@lru_cache(maxsize=8)  # one plan reads a text a dozen times, and parsing is most of its time
def _loaded(text: str) -> Any:
    from app.hosts.documents.yaml_limits import load_within_limits

    return load_within_limits(text)


def _check_size(text: str, kind: str) -> None:
    if len(text) > _MOST_TEXT:
        raise ToolcribError(f"The file is too large for a {kind} config.", _REPAIR)


def _check_depth(value: Any) -> None:
    """Refuse what the functions that walk a value cannot follow."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
    raise _too_deep()


def _too_deep() -> ToolcribError:
    return ToolcribError("The file is nested too deeply for a config.", _REPAIR)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
