"""A side-by-side diff as rows: what changed, which words, and which blocks fold away."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from app.export.side_by_side import Pair, line_pairs

SAME, CHANGED, ADDED, REMOVED, FOLD = "same", "changed", "added", "removed", "fold"
Span = tuple[int, int]  # start and length, in characters
TAB = 4  # letters that a tab is wide
_MASKS = re.compile("\N{BULLET}+")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of both panes; a fold row replaces the `hidden` unchanged rows that follow it."""

    kind: str
    left: str | None = None
    right: str | None = None
    left_words: tuple[Span, ...] = ()
    right_words: tuple[Span, ...] = ()
    hidden: int = 0


def pair_lines(before: str, after: str) -> tuple[Pair, ...]:
    """Both texts line by line, changed lines side by side as far as they go."""
    left, right = before.splitlines(), after.splitlines()
    return tuple(line_pairs((left, right), left, right))


def diff_rows(
    pairs: Sequence[Pair], *, hidden: frozenset[int] = frozenset(), context: int = 3
) -> tuple[DiffRow, ...]:
    """Rows for the panes; runs of unchanged lines longer than needed start with a fold row.

    `hidden` are the numbers of pairs that differ though their masked texts do not.
    """
    rows = [
        _masked_row(left or "") if number in hidden else _row(left, right)
        for number, (left, right) in enumerate(pairs)
    ]
    return tuple(_with_folds(rows, context))


def pieces(row: DiffRow, columns: int) -> list[tuple[Span, Span]]:
    """Cuts of both sides of a row to lines of that many columns, as many lines on each side.

    0 columns: nowhere. A side that needs fewer lines ends with empty ones.
    """
    left, right = (_cuts(text or "", columns) for text in (row.left, row.right))
    for short, text in ((left, row.left), (right, row.right)):
        short += [(len(text or ""), 0)] * (max(len(left), len(right)) - len(short))
    return list(zip(left, right, strict=True))


def change_count(rows: Iterable[DiffRow]) -> int:
    """Number of blocks of neighbouring changed rows."""
    count, inside = 0, False
    for row in rows:
        changed = row.kind not in (SAME, FOLD)
        count += changed and not inside
        inside = changed
    return count


def _row(left: str | None, right: str | None) -> DiffRow:
    if left is None or right is None:
        return DiffRow(REMOVED if right is None else ADDED, left, right)
    if left == right:
        return DiffRow(SAME, left, right)
    left_words, right_words = _changed_words(left, right)
    return DiffRow(CHANGED, left, right, left_words, right_words)


def _masked_row(line: str) -> DiffRow:
    words = tuple((m.start(), m.end() - m.start()) for m in _MASKS.finditer(line))
    return DiffRow(CHANGED, line, line, words, words)


def _changed_words(left: str, right: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    ours, theirs = _WORDS.findall(left), _WORDS.findall(right)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    if matcher.ratio() < 0.35:  # unlike lines: marking every word would say nothing
        return (), ()
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return (
        tuple(_span(ours, i1, i2) for _, i1, i2, _, _ in changes if i2 > i1),
        tuple(_span(theirs, j1, j2) for _, _, _, j1, j2 in changes if j2 > j1),
    )


def _span(words: Sequence[str], first: int, last: int) -> Span:
    return sum(map(len, words[:first])), sum(map(len, words[first:last]))


def _cuts(text: str, columns: int) -> list[Span]:
    """Start and length of each line; a tab goes to the next fourth column."""
    starts, width = [0], 0
    for place, letter in enumerate(text):
        step = TAB - width % TAB if letter == "\t" else 1
        if columns and width + step > columns and place > starts[-1]:
            starts.append(place)
            width = 0
        width += step
    return [(a, b - a) for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _with_folds(rows: Sequence[DiffRow], context: int) -> Iterator[DiffRow]:
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and rows[end].kind == SAME:
            end += 1
        if end == start:
            yield rows[start]
            start += 1
            continue
        head = context if start else 0
        tail = context if end < len(rows) else 0
        hidden = end - start - head - tail
        yield from rows[start : start + head] if hidden > 2 else rows[start:end]
        if hidden > 2:
            yield DiffRow(FOLD, hidden=hidden)
            yield from rows[start + head : end]
        start = end
