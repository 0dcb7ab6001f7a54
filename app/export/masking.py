"""Texts of host files with their secrets masked, and the side-by-side diff of a plan."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.core.home import HOME_VARIABLE
from app.export.plan import FilePlan, Plan
from app.export.side_by_side import Pair, line_pairs
from app.hosts.documents.encoding import decode
from app.hosts.documents.json_spans import JsonError, Node, parse
from app.hosts.documents.values import read_values
from app.secrets.credentials import MASK, hide_in_args, is_secret_name, mask
from app.secrets.plain_values import is_interpolation

# Maps whose values are environment values or headers: none of them is shown.
_HIDDEN_MAPS = frozenset(
    {"env", "environment", "envs", "headers", "http_headers", "env_vars_map", "customUserVars"}
)
_SHOWN_NAMES = frozenset({HOME_VARIABLE})
_KEY_LINE = re.compile(
    r"""^(?P<lead>\s*(?:-\s+)?)(?P<quote>["']?)(?P<key>[\w.-]+)(?P=quote)(?P<sep>\s*[=:]\s*)(?P<value>\S.*)$"""
)
_SHORTEST = 3  # characters of a value that is masked anywhere in TOML or YAML


@dataclass(frozen=True, slots=True)
class DiffFile:
    """One file of a plan, both sides masked; pairs have None where a side has no line."""

    path: Path
    before: str
    after: str
    pairs: tuple[Pair, ...]
    hidden: frozenset[int] = frozenset()  # numbers of pairs that differ in masked values only


def masked_diff(plan: Plan) -> tuple[DiffFile, ...]:
    """Side by side, every file of the plan; a changed secret shows as a changed line of dots."""
    return tuple(_diff(file) for file in plan.files)


def masked_text(data: bytes | None, kind: str) -> str:
    """The text of a file with environment values, headers and credentials masked."""
    if not data:
        return ""
    try:
        text = decode(data).text
        if kind == "text":  # a file of our own making
            return text
        if kind in ("toml", "yaml", "markdown"):
            return _masked_lines(text, read_values(data, kind).value)
        return _masked_json(text)
    except (ToolcribError, JsonError):
        return "(this file cannot be read, so it is not shown)"


def _diff(file: FilePlan) -> DiffFile:
    if file.kept is not None:
        return masked_change(file.path, file.kept, file.base, file.format)
    return masked_change(file.path, file.before, file.after, file.format)


def masked_change(path: Path, before: bytes | None, after: bytes | None, kind: str) -> DiffFile:
    """Difference of two texts of a file, both masked."""
    shown = (masked_text(before, kind), masked_text(after, kind))
    raw = (_lines(before), _lines(after))
    left, right = shown[0].splitlines(), shown[1].splitlines()
    if len(raw[0]) != len(left) or len(raw[1]) != len(right):
        raw = (left, right)
    pairs = tuple(line_pairs(raw, left, right))
    truth = line_pairs(raw, raw[0], raw[1])
    hidden = (
        number
        for number, (real, masked) in enumerate(zip(truth, pairs, strict=True))
        if masked[0] == masked[1] and real[0] != real[1]
    )
    return DiffFile(path, *shown, pairs, frozenset(hidden))


def _lines(data: bytes | None) -> list[str]:
    try:
        return decode(data).text.splitlines() if data else []
    except ToolcribError:
        return []


def _masked_json(text: str) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(_hidden(parse(text).root, "", inside=False)):
        pieces += text[at:start], new
        at = end
    return "".join((*pieces, text[at:]))


def _hidden(node: Node, key: str, *, inside: bool) -> Iterator[tuple[int, int, str]]:
    """Spans of string values and what is shown instead."""
    if node.kind == "object":
        for member in node.members:
            deeper = inside or member.key in _HIDDEN_MAPS
            yield from _hidden(member.node, member.key, inside=deeper)
    elif node.kind == "array" and not inside:
        words = [item.scalar if item.kind == "string" else "" for item in node.items]
        for item, hidden in zip(node.items, hide_in_args(words, []), strict=True):
            if item.kind == "string" and hidden != item.scalar:
                yield (item.start, item.end, json.dumps(mask(hidden), ensure_ascii=False))
            elif item.kind != "string":
                yield from _hidden(item, key, inside=inside)
    elif node.kind == "array":
        for item in node.items:
            yield from _hidden(item, key, inside=inside)
    elif (shown := _shown(node, key, inside=inside)) is not None:
        yield (node.start, node.end, json.dumps(shown, ensure_ascii=False))


def _shown(node: Node, key: str, *, inside: bool) -> str | None:
    """Mask in place of a scalar, None when it can be shown as it is."""
    if key in _SHOWN_NAMES:
        return None
    if node.kind == "number":
        return MASK if inside else None
    if node.kind != "string" or not node.scalar or is_interpolation(node.scalar):
        return None
    if inside or is_secret_name(key):
        return MASK
    (hidden,) = hide_in_args([node.scalar], [])
    return mask(hidden) if hidden != node.scalar else None


def _masked_lines(text: str, tree: Any) -> str:
    secrets = sorted(set(_secrets(tree, "", inside=False)), key=len, reverse=True)
    return "".join(_masked_line(line, secrets) for line in text.splitlines(keepends=True))


def _masked_line(line: str, secrets: list[str]) -> str:
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            line = line.replace(secret, MASK)
    body = line.rstrip("\r\n")
    match = _KEY_LINE.match(body)
    if match and (is_secret_name(match["key"]) or match["value"].strip("\"',") in secrets):
        value = match["value"].strip("\"' ")
        if not is_interpolation(value) and MASK not in value and value not in ("|", ">", "{", "["):
            head = body[: match.start("value")]
            return f"{head}{MASK}{line[len(body) :]}"
    return line


def _secrets(value: Any, key: str, *, inside: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _secrets(item, name, inside=inside or name in _HIDDEN_MAPS)
    elif isinstance(value, list):
        if not inside and all(isinstance(item, str) for item in value):
            secrets: list[str] = []
            hide_in_args(value, secrets)
            yield from _split(secrets)
            return
        for item in value:
            yield from _secrets(item, key, inside=inside)
    elif key not in _SHOWN_NAMES and isinstance(value, str) and value:
        if is_interpolation(value):
            return
        if inside or is_secret_name(key):
            yield from _split([value])
        else:
            secrets = []
            hide_in_args([value], secrets)
            yield from _split(secrets)


def _split(values: list[str]) -> Iterator[str]:
    """The values; one over several lines is masked line by line."""
    for value in values:
        yield from (line.strip() for line in value.splitlines() if line.strip())
