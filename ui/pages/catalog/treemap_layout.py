"""Squarified treemap: rectangles whose areas are in proportion to their numbers.

Bruls, Huizing, van Wijk: Squarified Treemaps (2000).
"""

from collections.abc import Sequence
from dataclasses import dataclass

HEADER = 18.0  # pixels of a server's name band
SMALLEST = 4.0  # pixels; tools whose cell would be narrower are drawn as one


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, by: float) -> "Box":
        """The box without an edge."""
        return Box(
            self.x + by, self.y + by, max(0.0, self.width - 2 * by), max(0.0, self.height - 2 * by)
        )

    def contains(self, x: float, y: float) -> bool:
        """True if the point lies inside."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


@dataclass(frozen=True, slots=True)
class Item:
    """A tool as the map sees it."""

    id: int
    name: str
    tokens: int
    on: bool
    held: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A server as the map sees it; `place` decides its colour."""

    name: str
    place: int
    items: tuple[Item, ...]

    @property
    def tokens(self) -> int:
        """Sum of its tools."""
        return sum(item.tokens for item in self.items)

    @property
    def prefix(self) -> str:
        """Common beginning of its tools' names, up to a separator: labels have no room for it."""
        names = sorted(item.name for item in self.items)
        if len(names) < 2:
            return ""
        first, last = names[0], names[-1]
        pairs = enumerate(zip(first, last, strict=False))
        same = next((n for n, (a, b) in pairs if a != b), len(first))
        end = max(first.rfind(letter, 0, same) for letter in "-_./") + 1
        return first[:end] if end < len(first) else ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One or, where they would be too small, several tools."""

    box: Box
    items: tuple[Item, ...]
    group: Group


@dataclass(frozen=True, slots=True)
class Field:
    """A server's area: its header, and its tools below."""

    box: Box
    group: Group
    cells: tuple[Cell, ...]


def lay_out(groups: Sequence[Group], area: Box, header: float = HEADER) -> tuple[Field, ...]:
    """Areas for all groups with tokens, largest first."""
    order = sorted((g for g in groups if g.tokens), key=lambda g: -g.tokens)
    boxes = squarify([g.tokens for g in order], area)
    return tuple(_field(g, box.inset(1.0), header) for g, box in zip(order, boxes, strict=True))


def squarify(values: Sequence[float], area: Box) -> list[Box]:
    """One box per value, in order; values must be positive and fall."""
    total = sum(values)
    if not total or area.width <= 0 or area.height <= 0:
        return [Box(area.x, area.y, 0, 0) for _ in values]
    scale = area.width * area.height / total
    sizes = [value * scale for value in values]
    boxes: list[Box] = []
    rest, start = area, 0
    while start < len(sizes):
        short = min(rest.width, rest.height)
        end, row = start + 1, sizes[start]
        worst = _worst(row, sizes[start], sizes[start], short=short)
        while end < len(sizes):
            wider = row + sizes[end]
            ratio = _worst(wider, sizes[start], sizes[end], short=short)
            if ratio > worst:
                break
            row, worst, end = wider, ratio, end + 1
        rest = _place(sizes[start:end], row, rest, boxes=boxes)
        start = end
    return boxes


def _worst(row: float, largest: float, smallest: float, *, short: float) -> float:
    """The worst aspect ratio of a row with that area along the shorter side."""
    if not short or not row or not smallest:
        return float("inf")
    side = short * short / (row * row)
    return max(side * largest, 1 / (side * smallest))


def _place(sizes: Sequence[float], row: float, rest: Box, *, boxes: list[Box]) -> Box:
    """Put a row along the shorter side; returns what is left."""
    if rest.width >= rest.height:
        width = row / rest.height if rest.height else 0.0
        y = rest.y
        for size in sizes:
            height = size / width if width else 0.0
            boxes.append(Box(rest.x, y, width, height))
            y += height
        return Box(rest.x + width, rest.y, max(0.0, rest.width - width), rest.height)
    height = row / rest.width if rest.width else 0.0
    x = rest.x
    for size in sizes:
        width = size / height if height else 0.0
        boxes.append(Box(x, rest.y, width, height))
        x += width
    return Box(rest.x, rest.y + height, rest.width, max(0.0, rest.height - height))


def _field(group: Group, box: Box, header: float) -> Field:
    header = min(header, box.height)
    inner = Box(box.x, box.y + header, box.width, box.height - header)
    items = sorted((i for i in group.items if i.tokens), key=lambda i: -i.tokens)
    return Field(box, group, tuple(_cells(group, items, inner)))


def _cells(group: Group, items: list[Item], inner: Box) -> list[Cell]:
    """A cell per tool; the smallest share one when they would be under four pixels."""
    total = sum(i.tokens for i in items)
    if not items or inner.width < SMALLEST or inner.height < SMALLEST:
        return []
    least = SMALLEST * SMALLEST * total / (inner.width * inner.height)
    big = [i for i in items if i.tokens >= least]
    small = tuple(i for i in items if i.tokens < least)
    values: list[float] = [i.tokens for i in big]
    parts: list[tuple[Item, ...]] = [(i,) for i in big]
    if small:
        share = sum(i.tokens for i in small)
        at = next((n for n, v in enumerate(values) if v < share), len(values))
        values.insert(at, share)
        parts.insert(at, small)
    boxes = squarify(values, inner)
    return [Cell(box, part, group) for box, part in zip(boxes, parts, strict=True)]
