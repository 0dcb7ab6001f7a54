"""Meaning of words in any language: sentences as rows of concepts.

An order in a language without training data has the same row as its translation: that is what the
classifier's weights for rows carry over.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_FILE = "concepts.txt"
_URL, _MAIL, _PATH, _NAME = 1, 2, 3, 4  # numbers of what is no word
_FIRST = 5
_PLACES_NAMED = {"a URL": _URL, "an address": _MAIL, "a path": _PATH}
_MOST = 24  # concepts of one sentence
# scripts whose words are not set apart, or have other words grown on
_GROWN = "\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_JOINED = re.compile(f"[{_GROWN}]")
_PLACES = re.compile(
    r"https?://[!-~]{1,80}|[a-z0-9_.+-]{1,40}@[a-z0-9-]{1,40}\.[a-z]{2,8}"
    r"|[~.]?/[a-z0-9_./~-]{2,60}|\.env\b"
    rf"|[{_GROWN}]+|[^\W{_GROWN}]+"
)
_MARKS = re.compile("[\u064b-\u0652\u0640]")
_LONGEST_STEM = 14


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Whole words, beginnings of words, and pieces at any place of a word, with their concepts."""

    words: Mapping[str, int]
    stems: Mapping[str, int]
    pieces: Mapping[str, int]
    _any_piece: re.Pattern[str]

    def row(self, sentence: str) -> list[int]:
        """The concepts of a sentence in lower case, in order."""
        row: list[int] = []
        text = sentence if sentence.isascii() else _MARKS.sub("", sentence)
        for match in _PLACES.finditer(text):
            token = match.group()
            if _JOINED.search(token):
                row += [self.pieces[piece] for piece in self._any_piece.findall(token)]
            else:
                concept = self._of_word(token)
                row += [concept] if concept else []
            if len(row) >= _MOST:
                break
        return row[:_MOST]

    def _of_word(self, word: str) -> int:
        if word in self.words:
            return self.words[word]
        if not word.isalpha():
            return _of_place(word)
        for length in range(min(len(word), _LONGEST_STEM), 2, -1):
            concept = self.stems.get(word[:length])
            if concept:
                return concept
        return 0


def _of_place(token: str) -> int:
    if "://" in token:
        return _URL
    if "@" in token:
        return _MAIL
    if "/" in token or token.startswith("."):
        return _PATH
    return _NAME if "_" in token.strip("_") else 0


@cache
def lexicon() -> Lexicon:
    """The concepts of resources/scanner/concepts.txt."""
    words: dict[str, int] = {}
    stems: dict[str, int] = {}
    pieces: dict[str, int] = {}
    for number, (_, spelled) in enumerate(_lines(concepts_text()), _FIRST):
        for word in spelled:
            plain = _MARKS.sub("", word)
            stem = plain.rstrip("*")
            if _JOINED.search(plain):
                pieces.setdefault(stem, number)
            else:
                (stems if plain != stem else words).setdefault(stem, number)
    longest_first = sorted(pieces, key=lambda piece: (-len(piece), piece))
    return Lexicon(
        MappingProxyType(words),
        MappingProxyType(stems),
        MappingProxyType(pieces),
        re.compile("|".join(map(re.escape, longest_first))),
    )


@cache
def numbers_of(names: str) -> frozenset[int]:
    """The numbers of concepts by their names in the file, set apart by commas."""
    lines = enumerate(_lines(concepts_text()), _FIRST)
    known = {**_PLACES_NAMED, **{name: number for number, (name, _) in lines}}
    return frozenset(known[name.strip()] for name in names.split(","))


def concepts_text() -> str:
    """The file as it is; weights belong to it."""
    return (files("resources") / "scanner" / _FILE).read_text(encoding="utf-8")


def _lines(text: str) -> list[tuple[str, Sequence[str]]]:
    rows = (line.split(": ", 1) for line in text.splitlines() if line[:1] not in ("", "#"))
    return [(name, spelled.split()) for name, spelled in rows]
