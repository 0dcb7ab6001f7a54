"""Edits YAML text through ruamel.yaml, keeping the lines that the edit does not change."""

import difflib
import io
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from app.core.errors import ToolcribError
from app.hosts.documents.edits import Delete, Edit, Rename, apply_edits, change, same
from app.hosts.documents.values import read_values

# (mapping, sequence, offset): the usual layouts, the most usual first.
_LAYOUTS = ((2, 4, 2), (2, 2, 0), (4, 4, 2), (4, 4, 0), (4, 6, 4), (2, 4, 0), (2, 3, 1))

_KEY = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^:#\n]+""")
_PLAIN = re.compile(r"(?!(?i:true|false|yes|no|on|off|null|y|n)$)[A-Za-z_][\w-]*")


def edit_yaml(text: str, edits: list[Edit]) -> str:
    """The text with the edits made; untouched lines keep their spelling where lines match up."""
    newline = "\r\n" if "\r\n" in text else "\n"
    own, ends = text.replace("\r\n", "\n"), not text or text.endswith("\n")
    own = own if ends else own + "\n"  # what comes after it is a line of its own
    while edits and isinstance(edits[0], Delete):
        shorter = _without_lines(own, edits[0])
        if shorter is None:
            break
        own, edits = shorter, edits[1:]
    edited = _edit_lines(own, edits) if edits else own
    edited = edited if ends else edited.removesuffix("\n")
    return edited.replace("\n", newline)


def _edit_lines(own: str, edits: list[Edit]) -> str:
    layout, plain = _best_layout(own)
    document = _load(own, layout) or {}
    renames = [edit for edit in edits if isinstance(edit, Rename)]
    try:
        for edit in edits:
            if not isinstance(edit, Rename):
                _apply(document, edit)
        edited = (
            _keep_lines(own, plain, _dump(document, layout)) if len(edits) > len(renames) else own
        )
        for edit in renames:  # they come last
            edited = _rename(edited, edit, layout)
    except (KeyError, IndexError, TypeError) as error:
        hint = "The value comes from an anchor (<<) elsewhere in the file; edit that by hand."
        raise ToolcribError("This YAML file cannot be edited in place.", hint) from error
    except YAMLError as error:  # kept and new lines together, in a layout of its own
        hint = "Its lines are set in by an unusual width; edit it by hand."
        raise ToolcribError("This YAML file cannot be edited in place.", hint) from error
    return edited


def _without_lines(text: str, edit: Delete) -> str | None:
    """The text without the lines of this key; None where those are not all that it is.

    ruamel.yaml would also remove the comments before the next key.
    """
    lines = text.splitlines(keepends=True)
    parent: Any = _load(text, _LAYOUTS[0])
    try:
        for key in edit.path[:-1]:
            parent = parent[key]
        first, column = parent.lc.key(edit.path[-1])
    except (AttributeError, KeyError, IndexError, TypeError):
        return None
    end = first + 1
    for number in range(first + 1, len(lines)):
        if not lines[number].strip():
            continue
        is_item = _lead(lines[number]) == column and lines[number].lstrip().startswith("- ")
        if _lead(lines[number]) <= column and not is_item:
            break
        end = number + 1
    shorter = "".join([*lines[:first], *lines[end:]])
    try:
        target = apply_edits(read_values(text.encode(), "yaml").value, [edit])
        return shorter if same(read_values(shorter.encode(), "yaml").value, target) else None
    except ToolcribError:
        return None


def _yaml(layout: tuple[int, int, int]) -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = 10**6
    yaml.indent(mapping=layout[0], sequence=layout[1], offset=layout[2])
    return yaml


def _load(text: str, layout: tuple[int, int, int]) -> object:
    return _yaml(layout).load(text)


def _dump(document: object, layout: tuple[int, int, int]) -> str:
    out = io.StringIO()
    if document is not None:
        _yaml(layout).dump(document, out)
    return out.getvalue()


def _best_layout(text: str) -> tuple[tuple[int, int, int], str]:
    """The layout under which ruamel changes the fewest lines, and what it then writes."""
    best, written, least = _LAYOUTS[0], "", -1
    for layout in _LAYOUTS:
        dumped = _dump(_load(text, layout), layout)
        distance = _distance(text.splitlines(), dumped.splitlines())
        if least < 0 or distance < least:
            best, written, least = layout, dumped, distance
        if least == 0:
            break
    return best, written


def _distance(own: list[str], dumped: list[str]) -> int:
    """Lines that differ beyond their inner spacing; indentation is what a layout is about."""
    if len(own) != len(dumped):
        return 10**6 + abs(len(own) - len(dumped))
    return sum(_lead(a) != _lead(b) for a, b in zip(own, dumped, strict=True))


def _lead(line: str) -> int:
    return len(line) - len(line.lstrip())


def _keep_lines(own: str, plain: str, edited: str) -> str:
    """The edited text, with the user's lines where the edit left ruamel's lines alone."""
    mine, base, new = (text.splitlines(keepends=True) for text in (own, plain, edited))
    if len(mine) != len(base):
        return edited
    kept: list[str] = []
    matcher = difflib.SequenceMatcher(None, base, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        kept += mine[i1:i2] if tag == "equal" else new[j1:j2]
    return "".join(kept)


def _apply(document: Any, edit: Edit) -> None:
    parent = document
    for key, following in pairwise(edit.path):
        if isinstance(parent, Mapping) and parent.get(key) is None:
            parent[key] = [] if isinstance(following, int) else {}  # type: ignore[index]
        parent = parent[key]
    change(parent, edit)


def _rename(text: str, edit: Rename, layout: tuple[int, int, int]) -> str:
    """The text with the one token that is the key replaced."""
    parent: Any = _load(text, layout)
    for key in edit.path[:-1]:
        parent = parent[key]
    number, column = parent.lc.key(edit.path[-1])
    lines = text.splitlines(keepends=True)
    key_text = _KEY.match(lines[number], column)
    if key_text is None:
        raise KeyError(edit.path[-1])
    plain = _PLAIN.fullmatch(edit.name)
    new = edit.name if plain else json.dumps(edit.name, ensure_ascii=False)
    lines[number] = (
        lines[number][:column] + new + lines[number][column + len(key_text[0].rstrip()) :]
    )
    return "".join(lines)
