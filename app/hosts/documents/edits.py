"""Edits of a host file, and what its value tree must be afterwards."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from app.errors import ToolcribError

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Set:
    """Put a value; an index one past the end of a list appends to it."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True, repr=False)
class Delete:
    """Take a key or an item away."""

    path: Path


Edit = Set | Delete


def apply_edits(tree: Any, edits: Sequence[Edit]) -> Any:
    """The value tree after the edits; the given tree stays as it is."""
    root = [copy.deepcopy(tree)]
    for edit in edits:
        parent: Any = root
        keys: Path = (0, *edit.path)
        for key, following in pairwise(keys):
            parent = _child(parent, key, following)
        if isinstance(edit, Set):
            _put(parent, keys[-1], copy.deepcopy(edit.value))
        elif _has(parent, keys[-1]):
            del parent[keys[-1]]
        else:
            raise ToolcribError("The entry to remove is no longer in the file.")
    return root[0]


def same(one: Any, other: Any) -> bool:
    """Whether two value trees are equal, types and order of keys included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)


def _child(parent: Any, key: str | int, following: str | int) -> Any:
    if not _has(parent, key) or parent[key] is None:
        _put(parent, key, [] if isinstance(following, int) else {})
    child = parent[key]
    if not isinstance(child, list if isinstance(following, int) else dict):
        raise ToolcribError(f"{key} has another shape than expected, so Toolcrib leaves it alone.")
    return child


def _has(parent: Any, key: str | int) -> bool:
    if isinstance(parent, list):
        return isinstance(key, int) and 0 <= key < len(parent)
    return isinstance(parent, dict) and key in parent


def _put(parent: Any, key: str | int, value: Any) -> None:
    if isinstance(parent, list) and key == len(parent):
        parent.append(value)
    else:
        parent[key] = value
