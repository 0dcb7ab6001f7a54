"""Edits of a host file, and what its value tree must be afterwards."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolcribError

Path = tuple[str | int, ...]
MISSING = object()  # default of value_at() where null is a value like any other


@dataclass(frozen=True, slots=True, repr=False)
class Set:
    """Put a value; an index one past the end of a list appends to it."""

    path: Path
    value: object


@dataclass(frozen=True, slots=True, repr=False)
class Delete:
    """Take a key or an item away."""

    path: Path


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a key; its value, and its place among the others, stay."""

    path: Path
    name: str


Edit = Set | Delete | Rename


def value_at(tree: Any, path: Iterable[Any], default: Any = None) -> Any:
    """The value at this path of a tree, `default` where there is none."""
    for key in path:
        if not isinstance(tree, dict | list):
            return default
        try:
            tree = tree[key]
        except (KeyError, IndexError, TypeError):
            return default
    return tree


def apply_edits(tree: object, edits: Sequence[Edit]) -> object:
    """The value tree after the edits; the given tree stays as it is."""
    for edit in edits:
        tree = _edited(tree, edit.path, edit)
    return tree


def _edited(tree: Any, path: Path, edit: Edit) -> Any:
    """The tree with one edit made; only the containers on its path are copied."""
    if not path:
        return edit.value if isinstance(edit, Set) else None
    key, inner = path[0], path[1:]
    kind: type = list if isinstance(key, int) else dict
    if tree is None and isinstance(edit, Set):
        tree = kind()
    if not isinstance(tree, kind):
        raise ToolcribError(f"{key} is in a value of an unexpected type; Toolcrib leaves it alone.")
    tree = copy.copy(tree)
    known = 0 <= key < len(tree) if isinstance(key, int) else key in tree
    if not isinstance(edit, Set) and not known:
        raise ToolcribError("The entry to change is no longer in the file.")
    if isinstance(edit, Rename) and not inner:
        return _renamed(tree, key, edit.name)
    if inner:
        tree_at = _edited(tree[key] if known else None, inner, edit)
        _put(tree, key, tree_at)
    else:
        change(tree, edit)
    return tree


def same(one: Any, other: Any) -> bool:
    """True if two value trees are equal, types and order of keys included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)


def _renamed(tree: Any, key: Any, name: str) -> Any:
    if name in tree:
        raise ToolcribError(f"There is a server called {name} in this file already.")
    return {name if one == key else one: value for one, value in tree.items()}


def change(parent: Any, edit: Edit) -> None:
    """Make the edit in the container that its path leads to."""
    if isinstance(edit, Delete):
        del parent[edit.path[-1]]
    elif isinstance(edit, Set):
        _put(parent, edit.path[-1], edit.value)


def _put(parent: Any, key: str | int, value: Any) -> None:
    if isinstance(parent, list) and key == len(parent):
        parent.append(value)
    else:
        parent[key] = value
