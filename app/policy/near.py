"""Tools of different servers that do the same: near in vectors, alike in their parameters."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from operator import mul

from app.catalog.catalog import CatalogTool
from app.policy.usage import Usage
from store.typed import object_or_empty

# Chosen on half of 65 real servers, where no other pair was above 0.62; the other half had one pair
# above it, which does the same, and none below it that does.
NEAR = 0.7  # cosine of two vectors
SAME_PARAMETERS = 0.75  # of the names of both
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST = 2_000  # tools compared in pairs; of more, only those with the very same names
_LETTERS = re.compile(r"[a-z]{3,}")
_COMMON = frozenset({"mcp", "server", "tools", "file", "files", "filesystem", "data", "search"})
_VERSION = re.compile(r"(?i)^(?P<base>.+?)[-_]?v(?P<number>\d{1,3})$")
_OLD = re.compile(
    r"(?i)^(?:(?:old|legacy|deprecated)[-_](?P<a>.+)|(?P<b>.+)[-_](?:old|legacy|deprecated))$"
)
_SAYS_OLD = re.compile(r"(?i)\b(?:deprecated|superseded|obsolete)\b")
_NAME = re.compile(r"[A-Za-z][\w.-]+")
Pair = tuple[CatalogTool, CatalogTool]  # the one to spare, the one that is kept


def near_duplicates(
    tools: Sequence[CatalogTool], vectors: Mapping[int, bytes], usage: Usage
) -> list[Pair]:
    """Pairs of tools that do the same; the pinned, the more used and the cheaper are kept."""
    ordered = sorted(
        (tool for tool in tools if tool.tool.id in vectors),
        key=lambda t: (not t.pinned, -usage.calls.get(t.tool.tool_id, 0), t.cost, t.tool.tool_id),
    )
    numbers = {tool.tool.id: array("f", vectors[tool.tool.id]) for tool in ordered}
    spare: dict[int, Pair] = {}
    for kept, other in _alike_in_parameters(ordered):
        if kept.tool.id in spare or other.tool.id in spare or other.pinned:
            continue
        if _other_service(kept, other):
            continue
        cosine = sum(map(mul, numbers[kept.tool.id], numbers[other.tool.id]))
        if cosine >= NEAR:
            spare[other.tool.id] = (other, kept)
    return list(spare.values())


def _other_service(one: CatalogTool, other: CatalogTool) -> bool:
    """True if a tool names its own service and the other tool does not: GitHub is no GitLab."""
    texts = [f"{row.tool.name} {row.tool.description}".lower() for row in (one, other)]
    return _names_alone(one, texts[0], texts[1]) or _names_alone(other, texts[1], texts[0])


def _names_alone(row: CatalogTool, own: str, other: str) -> bool:
    words = set(_LETTERS.findall(row.server.name.lower())) - _COMMON
    return any(word in own and word not in other for word in words)


def _alike_in_parameters(tools: Sequence[CatalogTool]) -> Iterator[Pair]:
    """Pairs of tools of different servers with the same parameters, in their order."""
    names = {tool.tool.id: parameters(tool) for tool in tools}
    groups: list[Sequence[CatalogTool]] = [tools]
    if len(tools) > _MOST:
        same: dict[frozenset[str], list[CatalogTool]] = {}
        for tool in tools:
            same.setdefault(names[tool.tool.id], []).append(tool)
        groups = [group[:_MOST] for group in same.values()]
    for group in groups:
        for one, other in combinations(group, 2):
            if one.server.name == other.server.name:
                continue
            mine, theirs = names[one.tool.id], names[other.tool.id]
            if len(mine & theirs) >= SAME_PARAMETERS * len(mine | theirs):
                yield one, other


def parameters(tool: CatalogTool) -> frozenset[str]:
    """Names of a tool's parameters in one spelling."""
    names = object_or_empty(tool.tool.input_schema.get("properties"))
    return frozenset(_WORD.sub("_", str(name)).lower().replace("-", "_") for name in names)


def superseded(tools: Sequence[CatalogTool], usage: Usage) -> list[Pair]:
    """Tools whose server has a newer one for the same, by name or by their own words.

    One that is called more than the newer one is left alone.
    """
    by_server: dict[str, dict[str, CatalogTool]] = {}
    for tool in tools:
        by_server.setdefault(tool.server.name, {})[tool.tool.name] = tool
    pairs = []
    for named in by_server.values():
        for tool in named.values():
            newer = _newer(tool, named)
            if newer is None or tool.pinned:
                continue
            calls = [usage.calls.get(one.tool.tool_id, 0) for one in (tool, newer)]
            if calls[0] <= calls[1]:
                pairs.append((tool, newer))
    return pairs


def _newer(tool: CatalogTool, named: Mapping[str, CatalogTool]) -> CatalogTool | None:
    """The tool of the same server that replaces this one, None without one."""
    name = tool.tool.name
    if match := _OLD.match(name):
        return named.get(match["a"] or match["b"])
    own = _VERSION.match(name)
    base, number = (own["base"], int(own["number"])) if own else (name, 1)
    for other, row in named.items():
        match = _VERSION.match(other)
        if (
            match
            and match["base"].rstrip("-_") == base.rstrip("-_")
            and int(match["number"]) > number
        ):
            return row
    text = tool.tool.description
    mark = _SAYS_OLD.search(text)
    if not mark:
        return None
    words = _NAME.findall(text[max(0, mark.start() - 200) : mark.end() + 200])
    return next(
        (named[w.rstrip(".")] for w in words if w.rstrip(".") in named and w.rstrip(".") != name),
        None,
    )
