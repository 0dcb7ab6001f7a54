"""A server that a user typed in, checked field by field."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from app.core.errors import ToolcribError
from app.hosts.launch import HTTP, STDIO, LaunchSpec
from app.system.quoting import joined, split

Pair = tuple[str, str]  # name and value of a variable or a header


class FieldError(ToolcribError):
    """Fault of one field, with the field's name."""

    def __init__(self, field: str, title: str) -> None:
        super().__init__(title)
        self.field = field  # name | start | pairs


def command_server(name: str, line: str, pairs: Iterable[Pair]) -> tuple[str, LaunchSpec]:
    """Name and launch of a server that is started; raises FieldError."""
    checked = _name(name)
    try:
        words = split(line)
    except ValueError as error:
        raise FieldError("start", "A quotation mark is opened and not closed.") from error
    if not words:
        raise FieldError("start", "Say which command starts the server.")
    command, *args = words
    return checked, LaunchSpec(STDIO, command, tuple(args), env=_pairs(pairs, "variable"))


def command_line(launch: LaunchSpec) -> str:
    """Command and arguments on one line, as `command_server` reads them."""
    return joined([launch.command, *launch.args])


def url_server(name: str, url: str, pairs: Iterable[Pair]) -> tuple[str, LaunchSpec]:
    """Name and launch of a server that is reached by URL; raises FieldError."""
    checked = _name(name)
    wanted = url.strip()
    try:
        parts = urlsplit(wanted)
        host = parts.hostname
    except ValueError as error:
        raise FieldError("start", "This is no URL.") from error
    if parts.scheme not in ("http", "https") or not host or " " in wanted:
        raise FieldError("start", "A URL such as https://example.com/mcp is needed.")
    return checked, LaunchSpec(HTTP, url=wanted, headers=_pairs(pairs, "header"))


def _name(name: str) -> str:
    if not name.strip():
        raise FieldError("name", "Give the server a name.")
    return name.strip()


def _pairs(pairs: Iterable[Pair], what: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in ((name.strip(), value) for name, value in pairs):
        if not name and not value:
            continue
        if not name:
            raise FieldError("pairs", f"A {what} has a value but no name. Give it a name.")
        if any(char in name for char in "=: \t"):
            raise FieldError("pairs", f"The name of a {what} cannot contain =, a colon or a blank.")
        if name in values:
            raise FieldError("pairs", f"{name} is given twice.")
        values[name] = value
    return values
