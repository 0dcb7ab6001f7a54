"""Edits TOML text: whole tables and new keys by lines, the rest through tomlkit."""

import tomllib
from typing import Any

import tomlkit
import tomlkit.items
from tomlkit.exceptions import TOMLKitError

from app.core.errors import ToolcribError
from app.hosts.documents.edits import Delete, Edit, Path, Rename, Set, apply_edits, change, same
from store.typed import Json


def edit_toml(text: str, edits: list[Edit]) -> str:
    """The text with the edits made, in the line ends that it has."""
    own = text.replace("\r\n", "\n")
    only_crlf = "\r\n" in text and own.count("\n") == text.count("\r\n")
    text = own if only_crlf else text  # tomlkit ends the lines that it adds with \n
    for edit in edits:
        target = apply_edits(tomllib.loads(text), [edit])
        text = _edit(text, edit, target)
    return text.replace("\n", "\r\n") if only_crlf else text


def _edit(text: str, edit: Edit, target: object) -> str:
    by_lines = _by_lines(text, edit, target)
    if by_lines is not None and _gives(by_lines, target):
        return by_lines
    if isinstance(edit, Rename):
        hint = "Rename it in the file, then read the servers again."
        raise ToolcribError("This server cannot be renamed in place.", hint)
    try:
        document = tomlkit.parse(text)
        _through_tomlkit(document, edit)
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError) as error:
        hint = "Write the server as a table of its own, [mcp_servers.NAME], and try again."
        raise ToolcribError("This TOML file cannot be edited in place.", hint) from error


def _gives(text: str, target: object) -> bool:
    try:
        return _alike(tomllib.loads(text), target)
    except tomllib.TOMLDecodeError:
        return False


def _alike(one: object, other: object) -> bool:
    """Equal but for the order of keys and empty tables, which TOML text need not show."""
    return same(_sorted(one), _sorted(other))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        items = {key: _sorted(value[key]) for key in sorted(value)}
        return {key: item for key, item in items.items() if item != {}}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _by_lines(text: str, edit: Edit, target: object) -> str | None:
    lines = text.splitlines(keepends=True)
    headers = [(index, path) for index, line in enumerate(lines) if (path := _header(line))]
    sections = [(-1, ()), *headers]
    if isinstance(edit, Rename):
        return _with_new_name(lines, headers, edit)
    if isinstance(edit, Set) and isinstance(edit.value, dict):
        beside = _with_table_beside(lines, headers, edit.path, edit.value)
        return _with_table(text, edit.path, edit.value) if beside is None else beside
    if isinstance(edit, Delete) and any(path[: len(edit.path)] == edit.path for _, path in headers):
        return _without_tables(lines, headers, edit.path)
    for position, (index, path) in enumerate(sections):
        if path == edit.path[:-1]:
            after = sections[position + 1][0] if position + 1 < len(sections) else len(lines)
            if isinstance(edit, Delete):
                return _without_key(lines, index, after, target)
            return _with_key(lines, index, after, edit)
    return None


def _with_new_name(lines: list[str], headers: list[tuple[int, Path]], edit: Rename) -> str:
    """The headers of the table and of those inside it under the new name."""
    length = len(edit.path)
    renamed = list(lines)
    for index, path in headers:
        if path[:length] == edit.path:
            keys = [*path[: length - 1], edit.name, *path[length:]]
            line = lines[index]
            ends = (end for end in range(len(line)) if _header(line[:end]) == path)
            start, end = line.index("["), next(ends)
            renamed[index] = f"{line[:start]}[{'.'.join(map(_key, keys))}]{line[end:]}"
    return "".join(renamed)


def _header(line: str) -> Path:
    """The path of a table header line, () for any other line."""
    if not line.lstrip().startswith("["):
        return ()
    try:
        table = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str | int] = []
    inner: object = table
    while isinstance(inner, dict) and inner:
        key = next(iter(inner))
        path.append(key)
        inner = inner[key]
    if inner == [{}]:  # one of an array of tables
        return (*path, 0)
    return tuple(path) if inner == {} else ()


def _last_line(lines: list[str], start: int, end: int) -> int:
    """The index after the last line of a table that is neither blank nor a comment."""
    last = start + 1
    for index in range(start + 1, end):
        if lines[index].strip() and not lines[index].lstrip().startswith("#"):
            last = index + 1
    return last


def _without_tables(lines: list[str], headers: list[tuple[int, Path]], gone: Path) -> str:
    kept = list(lines)
    ends = [index for index, _ in headers[1:]] + [len(lines)]
    for (index, path), end in zip(reversed(headers), reversed(ends), strict=True):
        if path[: len(gone)] != gone:
            continue
        last = _last_line(lines, index, end)
        before = index > 0 and not lines[index - 1].strip()
        after = last < len(lines) and not lines[last].strip()
        if before and (after or last == len(lines)):
            index -= 1  # of two blank lines one goes with the table
        kept[index:last] = []
    return "".join(kept)


def _without_key(lines: list[str], start: int, end: int, target: object) -> str | None:
    """The text without the one run of lines whose absence gives the values meant."""
    for index in range(start + 1, end):
        if "=" not in lines[index] or lines[index].lstrip().startswith("#"):
            continue
        for last in range(index + 1, min(end, index + 60) + 1):
            text = "".join([*lines[:index], *lines[last:]])
            if _gives(text, target):
                return text
            if "[" not in lines[index] and '"""' not in lines[index]:
                break  # the value ends on its own line
    return None


def _with_key(lines: list[str], header: int, end: int, edit: Set) -> str:
    last = _last_line(lines, header, end)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    head = lines[:last]
    if head and not head[-1].endswith("\n"):
        head[-1] += newline
    line = f"{_key(edit.path[-1])} = {_value(edit.value)}{newline}"
    return "".join([*head, line, *lines[last:]])


def table_text(path: Path, value: Json) -> str:
    """A table as TOML text."""
    return "\n".join(_table_lines(path, value)) + "\n"


def _with_table(text: str, path: Path, value: Json) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith((newline * 2, "\n\n")) else newline
    gap = gap if text.endswith("\n") or not text else newline * 2
    return text + gap + newline.join(_table_lines(path, value)) + newline


def _with_table_beside(
    lines: list[str], headers: list[tuple[int, Path]], path: Path, value: Json
) -> str | None:
    """The table right after the one that it belongs to, where that has keys of its own."""
    ends = [index for index, _ in headers[1:]] + [len(lines)]
    for (index, header), end in zip(headers, ends, strict=False):
        if header == path[:-1]:
            last = _last_line(lines, index, end)
            if last > index + 1:
                return _with_table("".join(lines[:last]), path, value) + "".join(lines[last:])
    return None


def _table_lines(path: Path, value: Json) -> list[str]:
    lines = [f"[{'.'.join(map(_key, path))}]"]
    tables = {key: item for key, item in value.items() if isinstance(item, dict) and item}
    for key, item in value.items():
        if key not in tables and item is not None:
            lines.append(f"{_key(key)} = {_value(item)}")
    for key, item in tables.items():
        lines += ["", *_table_lines((*path, key), item)]
    return lines


def _key(key: str | int) -> str:
    return tomlkit.key(str(key)).as_string()


def _value(value: object) -> str:
    return str(tomlkit.item(value).as_string())


def _through_tomlkit(document: Any, edit: Edit) -> None:
    parent = document
    for key in edit.path[:-1]:
        if isinstance(key, str) and key not in parent:
            inline = isinstance(parent, tomlkit.items.InlineTable)
            parent[key] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=True)
        parent = parent[key]
    change(parent, edit)
