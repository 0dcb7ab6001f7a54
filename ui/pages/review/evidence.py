"""Evidence for a decision about a tool, line by line, nothing in it hidden."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from app.safety.pins import RULE as PIN_RULE
from app.safety.review import Difference, ReviewItem, differences
from app.safety.rules import rules
from ui.look.text import visible
from ui.widgets.diff_rows import ADDED, FOLD, REMOVED, SAME, DiffRow, Span, diff_rows, pair_lines

HEAD, NOTE, FOUND = "head", "note", "found"  # kinds beside SAME, ADDED, REMOVED
NOT_KEPT = (
    "An earlier version of Toolcrib did not keep the text that you trusted. This is the text now."
)
TOO_LONG = "There is more than can be shown here; the command line has it: toolcrib review --json"
# The text is a stranger's, and the window waits while it is shown.
MOST_LINES, MOST_CHARACTERS = 1_500, 100_000
_MOST_COMPARED = 20_000  # characters of both sides of a part
_MOST_PAIRS = 60_000  # in all, lines by lines and words by words: repeats cost far more
_HIDDEN = re.compile(r"(?:⟨U\+[0-9A-F]{4,6}⟩)+")
_QUOTED = re.compile("“([^”]{3,400})”")
_MOST_BESIDE = 20  # lines of each of two descriptions
_MOST_QUOTED, _MOST_MARKS = 40, 20  # words of a quotation, places of it
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """The lines, and whether they are all that there is."""

    lines: tuple[EvidenceLine, ...]
    whole: bool


@dataclass(slots=True)
class _Effort:
    """Number of pairs of lines that may still be compared for a tool."""

    left: int = _MOST_PAIRS

    def spend(self, pairs: int) -> bool:
        """Spend that many pairs; False if fewer are left."""
        enough = pairs <= self.left
        self.left -= pairs if enough else 0
        return enough


def evidence(item: ReviewItem) -> Evidence:
    """Findings, then the changes; the whole text where nothing earlier is known."""
    lines, length = [], 0
    parts = (_findings(item), _beside(item), _text(item))
    every = (line for part in parts for line in part)
    for line in islice(every, MOST_LINES):
        length += len(line.text)
        if length > MOST_CHARACTERS:
            break
        lines.append(line)
    else:
        if next(every, None) is None:
            return Evidence(tuple(lines), whole=True)
    return Evidence((*lines, EvidenceLine(NOTE, TOO_LONG)), whole=False)


def _findings(item: ReviewItem) -> Iterator[EvidenceLine]:
    quoted = [f for f in item.findings if f.rule != PIN_RULE]
    if quoted:
        yield EvidenceLine(HEAD, "Found")
    for finding in quoted:
        rule = rules().get(finding.rule)
        title = rule.title if rule else finding.rule
        yield EvidenceLine(FOUND, visible(f"{title}: {finding.detail}").replace("\n", " "))


def _beside(item: ReviewItem) -> Iterator[EvidenceLine]:
    """Both descriptions, where the tool looks like another server's."""
    if item.beside is not None:
        both = (item.beside.tool, "you have it already"), (item.row.tool, "this one")
        for tool, since in both:
            yield EvidenceLine(HEAD, f"{visible(tool.tool_id)} ({since})".replace("\n", " "))
            lines = (visible(tool.description) or "No description").splitlines()
            for line in lines[:_MOST_BESIDE]:
                yield EvidenceLine(SAME, line, _hidden(line))


def _text(item: ReviewItem) -> Iterator[EvidenceLine]:
    tool = item.row.tool
    if item.changed and tool.trusted_raw is None:
        yield EvidenceLine(NOTE, NOT_KEPT)
    effort, quotations = _Effort(), _quotations(item)
    for part in differences(tool.trusted_raw, tool.raw):
        if part.place != "name" or tool.trusted_raw is not None:
            place = visible(part.place)[:80].replace("\n", " ")
            yield EvidenceLine(HEAD, _NAMES.get(part.place, place))
            lines = _changes(part, effort) if tool.trusted_raw is not None else _whole(part)
            yield from _with_quotations(lines, quotations)


def _quotations(item: ReviewItem) -> list[re.Pattern[str]]:
    """Quotations of findings as patterns of words; marks and blanks between them may differ."""
    patterns = []
    # hidden characters are marked one by one
    details = [f.detail for f in item.findings if not f.rule.startswith("HC-")]
    for quote in (m[1] for detail in details for m in _QUOTED.finditer(detail)):
        words = re.findall(r"\w+", quote)[:_MOST_QUOTED]
        if len(words) > 1:
            patterns.append(re.compile(r"\W{1,9}".join(words), re.IGNORECASE))
    return patterns


def _with_quotations(
    lines: Iterable[EvidenceLine], quotations: Sequence[re.Pattern[str]]
) -> Iterator[EvidenceLine]:
    """The lines with what findings quote marked, also where a quotation goes over line ends."""
    kept = list(islice(lines, MOST_LINES + 1))
    now = [x for x in kept if x.kind in (SAME, ADDED) and len(x.text) <= _MOST_COMPARED]
    whole = "\n".join(line.text for line in now)
    starts = list(accumulate((len(line.text) + 1 for line in now), initial=0))
    marks: dict[int, list[Span]] = {}
    for pattern in quotations:
        for match in islice(pattern.finditer(whole), _MOST_MARKS):
            number = bisect_right(starts, match.start()) - 1
            while number < len(now) and starts[number] < match.end():
                first = max(match.start() - starts[number], 0)
                last = min(match.end() - starts[number], len(now[number].text))
                marks.setdefault(id(now[number]), []).append((first, last - first))
                number += 1
    for line in kept:
        spans = marks.get(id(line))
        yield replace(line, marks=_around(line.marks, spans)) if spans else line


def _around(marks: Sequence[Span], quotations: Iterable[Span]) -> tuple[Span, ...]:
    """The marks, and the parts of quotations outside of them and of each other."""
    spans = list(marks)
    for start, length in sorted(quotations):
        place, end = start, start + length
        for first, size in sorted(spans):
            if place < first < end:
                spans.append((place, first - place))
            if first <= place < first + size or place < first < end:
                place = max(place, first + size)
        if place < end:
            spans.append((place, end - place))
    return tuple(sorted(spans))


def _whole(part: Difference) -> Iterator[EvidenceLine]:
    for line in visible(part.after).splitlines():
        yield EvidenceLine(SAME, line, _hidden(line))


def _changes(part: Difference, effort: _Effort) -> Iterator[EvidenceLine]:
    for row in _rows(visible(part.before), visible(part.after), effort):
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


def _rows(before: str, after: str, effort: _Effort) -> Sequence[DiffRow]:
    """Changed rows, compared where that is cheap enough, new lines first where it is not."""
    old, new = before.splitlines(), after.splitlines()
    if len(before) + len(after) <= _MOST_COMPARED and effort.spend(len(old) * len(new)):
        pairs = pair_lines(before, after)
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        if effort.spend(sum(_words(left) * _words(right) for left, right in changed)):
            return _without_folded(diff_rows(pairs, context=2))
    added = [DiffRow(ADDED, right=line) for line in new]
    return [*added, *(DiffRow(REMOVED, left=line) for line in old)]


def _words(line: str | None) -> int:
    return len(_WORDS.findall(line)) if line else 0


def _without_folded(rows: Iterable[DiffRow]) -> list[DiffRow]:
    """Leave out the rows that a fold row before them represents."""
    kept, skip = [], 0
    for row in rows:
        if skip:
            skip -= 1
            continue
        skip = row.hidden if row.kind == FOLD else 0
        kept.append(row)
    return kept


def _hidden(line: str) -> tuple[Span, ...]:
    """Spans of spelled-out invisible characters."""
    return tuple((m.start(), m.end() - m.start()) for m in _HIDDEN.finditer(line))
