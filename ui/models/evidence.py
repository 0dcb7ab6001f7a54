"""What a decision about a tool has to be made on, line by line, nothing in it hidden."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.safety.hidden import BLANKS
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
TOO_LONG = "There is more than can be shown here; the command line has it: toolcrib review --json"
# The text is a stranger's, and the window waits while it is shown.
MOST_LINES, MOST_CHARACTERS = 1_500, 100_000
_MOST_COMPARED = 20_000  # characters of both sides of a part
_MOST_PAIRS = 60_000  # in all, lines by lines and words by words: repeats cost far more
_HIDDEN = re.compile(r"(?:⟨U\+[0-9A-F]{4,6}⟩)+")
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
    """What may still be compared of a tool."""

    left: int = _MOST_PAIRS

    def spend(self, pairs: int) -> bool:
        """Whether that many pairs are left; they are spent then."""
        enough = pairs <= self.left
        self.left -= pairs if enough else 0
        return enough


def evidence(item: ReviewItem) -> Evidence:
    """What was found, then what changed; the whole text where nothing earlier is known."""
    lines, length = [], 0
    every = (line for part in (_found(item), _text(item)) for line in part)
    for line in islice(every, MOST_LINES):
        length += len(line.text)
        if length > MOST_CHARACTERS:
            break
        lines.append(line)
    else:
        if next(every, None) is None:
            return Evidence(tuple(lines), whole=True)
    return Evidence((*lines, EvidenceLine(NOTE, TOO_LONG)), whole=False)


def _found(item: ReviewItem) -> Iterator[EvidenceLine]:
    quoted = [f for f in item.findings if f.rule != PIN_RULE]
    if quoted:
        yield EvidenceLine(HEAD, "Found")
    for finding in quoted:
        rule = rules().get(finding.rule)
        title = rule.title if rule else finding.rule
        yield EvidenceLine(FOUND, shown(f"{title}: {finding.detail}").replace("\n", " "))


def _text(item: ReviewItem) -> Iterator[EvidenceLine]:
    tool = item.row.tool
    if item.changed and tool.trusted_raw is None:
        yield EvidenceLine(NOTE, NOT_KEPT)
    effort = _Effort()
    for part in differences(tool.trusted_raw, tool.raw):
        if part.place != "name" or tool.trusted_raw is not None:
            place = shown(part.place)[:80].replace("\n", " ")
            yield EvidenceLine(HEAD, _NAMES.get(part.place, place))
            yield from _changes(part, effort) if tool.trusted_raw is not None else _whole(part)


def _whole(part: Difference) -> Iterator[EvidenceLine]:
    for line in shown(part.after).splitlines():
        yield EvidenceLine(SAME, line, _hidden(line))


def _changes(part: Difference, effort: _Effort) -> Iterator[EvidenceLine]:
    for row in _rows(shown(part.before), shown(part.after), effort):
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
    """What changed, compared where that is cheap enough, new lines first where it is not."""
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
    """Fold rows stand for the rows after them, which are left out."""
    kept, skip = [], 0
    for row in rows:
        if skip:
            skip -= 1
            continue
        skip = row.hidden if row.kind == FOLD else 0
        kept.append(row)
    return kept


def shown(text: str) -> str:
    """The text with everything spelled out that nobody would see, blanks that are none too."""
    return visible(BLANKS.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text))


def _hidden(line: str) -> tuple[Span, ...]:
    """Where characters that nobody sees are spelled out."""
    return tuple((m.start(), m.end() - m.start()) for m in _HIDDEN.finditer(line))
