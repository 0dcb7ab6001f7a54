"""Typing errors: a word that no tool holds is read as the catalogue's word next to it.

Only unknown words of five small letters and more, by one slip (two from eight letters on) and with
the same first letter.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from app.ranking.text import LONGEST_QUERY, content_words, distinct, words

_SHORTEST = 5  # letters of a word that is looked at,
_LONG = 8  # and of one that may hold two slips
_LONGEST = 40  # of one that may be a slip or made of two: trying all would take a second of 8,000
_LEAST_PART = 3  # letters of each word that another is made of: changelog
_WORD = re.compile(r"[^\W_]+")


class Speller:
    """The words of one catalogue by their first letter; of two, the more frequent is likelier."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts = Counter(word for text in texts for word in set(text.split()))
        self._by_letter: dict[str, list[tuple[int, str]]] = {}
        for count, word in self.likely(counts):
            self._by_letter.setdefault(word[0], []).append((count, word))

    def nearest(self, word: str) -> str:
        """The catalogue's word that `word` may be a slip of, "" without one."""
        most = 1 if len(word) < _LONG else 2
        near = [
            (distance, -count, other)
            for count, other in self.counted(word)
            if (distance := slips(word, other, most)) <= most
        ]
        return min(near)[2] if near else ""

    def counted(self, word: str) -> Sequence[tuple[int, str]]:
        """The words that begin as `word` does, each after the number of texts that hold it."""
        return self._by_letter.get(word[0], ())

    @staticmethod
    def likely(counts: Mapping[str, int]) -> list[tuple[int, str]]:
        """Those of these words that a slip may be read as."""
        long = (word for word in counts if len(word) >= _SHORTEST - 1 and word.isalpha())
        return [(counts[word], word) for word in long]


def corrections(
    query: str, is_known: Callable[[str], bool], speller: Callable[[], Speller]
) -> dict[str, str]:
    """Correction of each unknown word of a query; the speller is only made when there is one."""
    typed = set(_WORD.findall(query[:LONGEST_QUERY]))  # a capital is a name's: Paris is no slip
    unknown = [
        word
        for word in distinct(content_words(query))
        if len(word) >= _SHORTEST and word.isalpha() and word in typed and not is_known(word)
    ]
    read = {word: speller().nearest(word) for word in unknown}
    return {word: other for word, other in read.items() if other}


def corrected(query: str, read: Mapping[str, str]) -> str:
    """The query with other words read for some of its own."""
    if not read:
        return query
    return _WORD.sub(lambda m: read.get(m.group().lower(), m.group()), query[:LONGEST_QUERY])


def is_nonsense(text: str, *knowers: Callable[[str], bool]) -> bool:
    """True if no word is known, a slip of a known one or made of two: "asdkjh qwe".

    The first of `knowers` is asked for slips and parts.
    """
    typed = [word for word in distinct(list(words(text[:LONGEST_QUERY]))) if word.isalpha()]
    if not typed or any(knows(word) for word in typed for knows in knowers):
        return False
    short = [word for word in typed if len(word) <= _LONGEST]
    return not any(knowers[0](other) for word in short for other in _slips_of(word)) and not any(
        knowers[0](word[:cut]) and knowers[0](word[cut:])
        for word in short
        for cut in range(_LEAST_PART, len(word) - _LEAST_PART + 1)
    )


def _slips_of(word: str) -> Iterator[str]:
    """The words that a long one may be a slip of."""
    if len(word) < _SHORTEST or not word.isascii():
        return
    for cut in range(len(word) + 1):
        head, tail = word[:cut], word[cut:]
        yield head + tail[1:]
        yield head + tail[1:2] + tail[:1] + tail[2:]
        for letter in string.ascii_lowercase:
            yield head + letter + tail
            yield head + letter + tail[1:]


def slips(word: str, other: str, most: int) -> int:
    """Letters left out, added, replaced or swapped with the next, `most` + 1 where more."""
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, there in enumerate(other, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == there:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
