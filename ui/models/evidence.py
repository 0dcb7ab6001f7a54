"""What a decision about a tool has to be made on, line by line, nothing in it hidden."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.safety.pins import RULE as PIN_RULE
from app.safety.review import Difference, ReviewItem, differences
from app.safety.rules import rules
from ui.models.diff_rows import (
    ADDED,
    FOLD,
    REMOVED,
    SAME,
    DiffRow,
    Span,
    diff_rows,
    pair_lines,
)
from ui.text import visible

HEAD, NOTE, FOUND = "head", "note", "found"  # kinds beside SAME, ADDED, REMOVED
NOT_KEPT = (
    "An earlier version of Toolcrib did not keep the text that you trusted. This is the text now."
)
# comparing takes the square of the length, and the text is a stranger's
_MOST_COMPARED = 20_000  # characters
_HIDDEN = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩")
_NAMES = {
    "description": "Description",
    "inputSchema": "Input schema",
    "outputSchema": "Output schema",
    "annotations": "Annotations",
    "title": "Title",
}


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One line, and what in it is to be seen first."""

    kind: str
    text: str
    marks: tuple[Span, ...] = ()


def evidence(item: ReviewItem) -> tuple[EvidenceLine, ...]:
    """What was found, then what changed; the whole text where nothing earlier is known."""
    return (*_found(item), *_text(item))


def _found(item: ReviewItem) -> Iterator[EvidenceLine]:
    quoted = [f for f in item.findings if f.rule != PIN_RULE]
    if quoted:
        yield EvidenceLine(HEAD, "Found")
    for finding in quoted:
        rule = rules().get(finding.rule)
        title = rule.title if rule else finding.rule
        yield EvidenceLine(FOUND, f"{title}: {finding.detail}")


def _text(item: ReviewItem) -> Iterator[EvidenceLine]:
    tool = item.row.tool
    if item.changed and tool.trusted_raw is None:
        yield EvidenceLine(NOTE, NOT_KEPT)
    for part in differences(tool.trusted_raw, tool.raw):
        if part.place != "name" or tool.trusted_raw is not None:
            yield EvidenceLine(HEAD, _NAMES.get(part.place, visible(part.place)))
            yield from _changes(part) if tool.trusted_raw is not None else _whole(part)


def _whole(part: Difference) -> Iterator[EvidenceLine]:
    for line in visible(part.after).splitlines():
        yield EvidenceLine(SAME, line, _hidden(line))


def _changes(part: Difference) -> Iterator[EvidenceLine]:
    for row in _rows(visible(part.before), visible(part.after)):
        if row.kind == FOLD:
            yield EvidenceLine(NOTE, f"⋯ {row.hidden} unchanged lines")
            continue
        if row.kind == SAME:
            yield EvidenceLine(SAME, row.right or "", _hidden(row.right or ""))
            continue
        if row.left is not None:
            yield EvidenceLine(REMOVED, row.left, row.left_words)
        if row.right is not None:
            yield EvidenceLine(ADDED, row.right, (*row.right_words, *_hidden(row.right)))


def _rows(before: str, after: str) -> Sequence[DiffRow]:
    if len(before) + len(after) <= _MOST_COMPARED:
        return _without_folded(diff_rows(pair_lines(before, after), context=2))
    gone = [DiffRow(REMOVED, left=line) for line in before.splitlines()]
    return [*gone, *(DiffRow(ADDED, right=line) for line in after.splitlines())]


def _without_folded(rows: Sequence[DiffRow]) -> list[DiffRow]:
    """Fold rows stand for the rows after them, which are left out."""
    kept, skip = [], 0
    for row in rows:
        if skip:
            skip -= 1
            continue
        skip = row.hidden if row.kind == FOLD else 0
        kept.append(row)
    return kept


def _hidden(line: str) -> tuple[Span, ...]:
    """Where characters that nobody sees are spelled out."""
    return tuple((m.start(), m.end() - m.start()) for m in _HIDDEN.finditer(line))
