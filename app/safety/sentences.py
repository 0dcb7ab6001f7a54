"""A text cut into sentences of at most 200 characters, in any language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 200
_BULLET = r"(?:[-*•–]|\d{1,3}[.)]|#{1,6})[^\S\n]"
# a line that goes on in the next one: docstrings are wrapped at any word
_WRAPPED = re.compile(rf"(?<![.!?:;。！？؟>\n])\n(?!{_BULLET}|\n|[\w ]{{1,30}}:)")
_ENDS = re.compile(
    r"(?<=[.!?؟])\s+|(?<=[。！？；])|\n+|(?<=>)\s{0,3}(?=[^\s<])|\s{1,3}(?=<[a-zA-Z!/])"
)
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it begins in its text."""

    start: int
    text: str
    before: str = ""  # the piece of the same sentence that it begins in, "" for none


def sentences(text: str) -> list[str]:
    """The sentences of a plain text, in order."""
    return [sentence.text for sentence in sentence_spans(text)]


def sentence_spans(text: str) -> Iterator[Sentence]:
    """The sentences of a plain text with their places, in order."""
    flowing = _WRAPPED.sub(" ", text)
    start = 0
    for gap in _ENDS.finditer(flowing):
        yield from _pieces(flowing, start, gap.start())
        start = gap.end()
    yield from _pieces(flowing, start, len(flowing))


def _pieces(text: str, start: int, end: int) -> Iterator[Sentence]:
    """A sentence, in pieces that begin at words if it is long; the last is no short fragment."""
    before = ""
    while start < end:
        stop = min(end, start + LONGEST)
        if stop < end:
            blank = text.rfind(" ", start + LONGEST // 2, stop)
            stop = blank if blank > 0 else stop
        piece = text[start:stop].strip(" \t\n-*•#")
        if len(piece) >= _SHORTEST:
            yield Sentence(start, piece, before)
        if stop < end < stop + LONGEST // 2:
            # what a few words say without those before them is often another thing
            blank = text.find(" ", end - LONGEST, stop)
            if blank > start:
                stop, before = blank, piece if len(piece) >= _SHORTEST else ""
        start = stop
